import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Hex, keccak256, numberToHex } from 'viem'
import { L1_BLOCK } from '../optimism.js'
import { rpc } from '../rpc.js'
import { nextSlot } from './block-schedule.js'
import { FaultyStream, isStreamFault, type StreamFault } from './faults.js'
import type { FlashblockMessage } from './flashblock-message.js'
import { flashblockOf, type NodeBlock, rawDeposit } from './node-block.js'
import { startStreamServer } from './stream-server.js'

export interface SequencerOptions {
  /** An anvil with `--order fifo`. Its own mining is disabled. */
  rpcUrl: string
  /** 0 uses a free port. */
  port?: number
  blockTimeMs?: number
  flashblockMs?: number
  encoding?: 'json' | 'brotli'
  /**
   * The node uses OP-stack rules: each block begins with a deposit, and receipts roots are omitted (anvil
   * hashes a deposit's nonce after the deposit, the OP stack before it).
   */
  optimism?: boolean
  /** Called when a request to the node failed; the sequencer tries again. */
  onError?: (error: Error) => void
}

export interface Sequencer {
  /** URL of the stream. `POST /inject?fault=NAME` on the same port requests a fault. */
  url: string
  inject(fault: StreamFault): void
  /** The newest 1,000 messages, oldest first, for recordings. */
  recent(): FlashblockMessage[]
  stop(): Promise<void>
}

/** Used alternately: anvil's pool accepts one transaction per sender and nonce, treats a deposit's nonce as 0, and two may wait. */
const DEPOSITORS = ['0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001', '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0002'] as const

/**
 * Builds the local chain's blocks in public. Every `flashblockMs` it streams what the node's pending block gained; every `blockTimeMs` it
 * has the node seal the block, with the wall clock's time. Until then the node's head does not change.
 */
export async function startSequencer(options: SequencerOptions): Promise<Sequencer> {
  const { rpcUrl, blockTimeMs = 2_000, flashblockMs = 200, encoding = 'json', optimism = false } = options
  const server = await startStreamServer({ port: options.port ?? 0, encoding })
  const stream = new FaultyStream(server)
  server.onControl((path) => {
    const fault = path.searchParams.get('fault')
    if (path.pathname !== '/inject' || !isStreamFault(fault)) return undefined
    stream.inject(fault)
    return `injecting ${fault}`
  })
  await rpc(rpcUrl, 'evm_setAutomine', [false])
  await rpc(rpcUrl, 'evm_setIntervalMining', [0])
  if (optimism) await leaveDeposit(rpcUrl, await blockAt(rpcUrl, 'pending'))
  const sent: FlashblockMessage[] = []
  let stopped = false
  const building = buildBlocks().catch((error: Error) => options.onError?.(error))

  async function buildBlocks(): Promise<void> {
    while (!stopped) {
      try {
        await buildBlock()
      } catch (error) {
        if (stopped) return
        options.onError?.(error as Error)
        await sleep(flashblockMs)
      }
    }
  }

  async function buildBlock(): Promise<void> {
    const head = await blockAt(rpcUrl, 'latest')
    const { timestamp, sealAt } = nextSlot(BigInt(head.timestamp), Date.now(), blockTimeMs)
    await rpc(rpcUrl, 'evm_setNextBlockTimestamp', [numberToHex(timestamp)])
    let payload = new Payload(optimism)
    const show = (block: NodeBlock) => {
      if (!payload.continuedBy(block)) payload = new Payload(optimism)
      emit(payload.next(block))
    }
    for (let flashblockAt = Date.now(); flashblockAt < sealAt; flashblockAt += flashblockMs) {
      await sleep(flashblockAt - Date.now())
      if (stopped) return
      show(await blockAt(rpcUrl, 'pending'))
    }
    await sleep(sealAt - Date.now())
    if (stopped) return
    const last = await blockAt(rpcUrl, 'pending')
    if (last.transactions.length > payload.count) show(last)
    if (optimism) await leaveDeposit(rpcUrl, await blockAt(rpcUrl, 'pending'))
    await rpc(rpcUrl, 'evm_mine', [])
    const sealed = await blockAt(rpcUrl, 'latest')
    if (payload.continuedBy(sealed) && sealed.transactions.length > payload.count) emit(payload.next(sealed))
  }

  function emit(message: FlashblockMessage): void {
    sent.push(message)
    if (sent.length > 1_000) sent.shift()
    stream.send(message)
  }

  return {
    url: server.url,
    inject: (fault) => stream.inject(fault),
    recent: () => [...sent],
    stop: async () => {
      stopped = true
      await building
      await server.stop()
    },
  }
}

/** One attempt at a block: what was streamed with one payload id. */
class Payload {
  readonly #payloadId = `0x${randomBytes(8).toString('hex')}`
  readonly #hashes: string[] = []
  #index = 0
  readonly #optimism: boolean

  constructor(optimism: boolean) {
    this.#optimism = optimism
  }

  get count(): number {
    return this.#hashes.length
  }

  /** Whether the block still begins with everything streamed. A replaced transaction requires a new payload. */
  continuedBy(block: NodeBlock): boolean {
    return this.#hashes.every((hash, i) => hash === block.transactions[i]?.hash)
  }

  next(block: NodeBlock): FlashblockMessage {
    const added = block.transactions.slice(this.#hashes.length)
    this.#hashes.push(...added.map((transaction) => transaction.hash))
    const { receiptsRoot, logsBloom, gasUsed, hash } = block
    return flashblockOf(this.#payloadId, this.#index++, block, added, {
      ...(!this.#optimism && { receipts_root: receiptsRoot }),
      ...{ logs_bloom: logsBloom, gas_used: gasUsed, block_hash: hash },
    })
  }
}

/**
 * Leaves the deposit that opens the block after `pending` in the node's pool. It is sent before `pending` is sealed, so that it comes first
 * in a pool ordered by arrival, and asks for the gas of a whole block, so that it only fits as the first transaction. A pending block
 * without a deposit waits for its own: at most one is left in the pool.
 */
async function leaveDeposit(rpcUrl: string, pending: NodeBlock): Promise<void> {
  const opening = pending.transactions.find((transaction) => transaction.type === '0x7e')
  const sequence = opening ? BigInt(opening.sourceHash as Hex) + 1n : BigInt(pending.number)
  const raw = rawDeposit(DEPOSITORS[Number(sequence % 2n)], L1_BLOCK, sequence, pending.gasLimit)
  const known = await rpc(rpcUrl, 'eth_getTransactionByHash', [keccak256(raw)])
  if (!known) await rpc(rpcUrl, 'eth_sendRawTransaction', [raw])
}

async function blockAt(rpcUrl: string, tag: 'latest' | 'pending'): Promise<NodeBlock> {
  const block = await rpc<NodeBlock | null>(rpcUrl, 'eth_getBlockByNumber', [tag, true])
  if (!block) throw new Error(`the node has no ${tag} block`)
  return block
}
