import type { FlashblockMessage } from './flashblock-message.js'
import { compressed, type StreamServer } from './stream-server.js'

/** Faults of the stream. Each request injects one once. */
export const STREAM_FAULTS = [
  'duplicate',
  'missing',
  'out-of-order',
  'wrong-number',
  'old-number',
  'second-payload',
  'wrong-parent',
  'wrong-gas',
  'invalid-json',
  'truncated-brotli',
  'bomb',
  'invalid-transaction',
  'disconnect',
  'half-open',
  'silent',
] as const
export type StreamFault = (typeof STREAM_FAULTS)[number]

export function isStreamFault(name: string | null): name is StreamFault {
  return STREAM_FAULTS.some((fault) => fault === name)
}

/** Duration of `half-open` and `silent`. */
const OUTAGE_MS = 4_000

/** Sends flashblocks, or a requested fault instead of one. */
export class FaultyStream {
  readonly #asked: StreamFault[] = []
  #heldBack: FlashblockMessage | undefined
  #quietUntil = 0
  readonly #server: StreamServer

  constructor(server: StreamServer) {
    this.#server = server
  }

  inject(fault: StreamFault): void {
    this.#asked.push(fault)
  }

  send(message: FlashblockMessage): void {
    if (Date.now() < this.#quietUntil) return
    const fault = this.#take(message)
    const text = JSON.stringify(message)
    switch (fault) {
      case undefined:
        this.#server.send(text)
        break
      case 'duplicate':
        this.#server.send(text)
        this.#server.send(text)
        break
      case 'missing':
        break
      case 'out-of-order':
        this.#heldBack = message
        return
      case 'wrong-number':
        this.#server.send(JSON.stringify(renumbered(message, message.metadata.block_number + 1_000)))
        this.#server.send(text)
        break
      case 'old-number':
        this.#server.send(JSON.stringify(renumbered(message, Math.max(0, message.metadata.block_number - 10))))
        this.#server.send(text)
        break
      case 'second-payload': {
        const abandoned = { ...message, payload_id: '0xdead00000000dead' }
        this.#server.send(JSON.stringify(abandoned))
        this.#server.send(text)
        break
      }
      case 'wrong-parent': {
        const base = message.base && { ...message.base, parent_hash: `0x${'ba'.repeat(32)}` }
        this.#server.send(JSON.stringify({ ...message, payload_id: '0xbad000000000bad0', ...(base && { base }) }))
        this.#server.send(text)
        break
      }
      case 'wrong-gas':
        this.#server.send(JSON.stringify({ ...message, diff: { ...message.diff, gas_used: '0x123456' } }))
        break
      case 'invalid-json':
        this.#server.sendFrame('{"payload_id": "0x00')
        this.#server.send(text)
        break
      case 'truncated-brotli':
        this.#server.sendFrame(compressed(text).subarray(0, 40))
        this.#server.send(text)
        break
      case 'bomb':
        this.#server.sendFrame(compressed(' '.repeat(256 * 2 ** 20)))
        this.#server.send(text)
        break
      case 'invalid-transaction': {
        const transactions = [...message.diff.transactions, '0x02c0']
        this.#server.send(JSON.stringify({ ...message, diff: { ...message.diff, transactions } }))
        break
      }
      case 'disconnect':
        this.#server.disconnect()
        break
      case 'half-open':
        this.#server.freeze(true)
        this.#quietUntil = Date.now() + OUTAGE_MS
        setTimeout(() => this.#server.freeze(false), OUTAGE_MS).unref()
        break
      case 'silent':
        this.#quietUntil = Date.now() + OUTAGE_MS
        break
    }
    if (this.#heldBack) {
      this.#server.send(JSON.stringify(this.#heldBack))
      this.#heldBack = undefined
    }
  }

  /** The oldest requested fault that this message can show. */
  #take(message: FlashblockMessage): StreamFault | undefined {
    const opening: StreamFault[] = ['second-payload', 'wrong-parent']
    const at = this.#asked.findIndex((fault) => message.index === 0 || !opening.includes(fault))
    return at === -1 ? undefined : this.#asked.splice(at, 1)[0]
  }
}

function renumbered(message: FlashblockMessage, number: number): FlashblockMessage {
  return {
    ...message,
    ...(message.base && { base: { ...message.base, block_number: `0x${number.toString(16)}` } }),
    metadata: { ...message.metadata, block_number: number },
  }
}
