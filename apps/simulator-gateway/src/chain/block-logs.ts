import { Injectable } from '@nestjs/common'
import { type CallLimits, CallQueue, malformed, type UpstreamCall, unlessAborted } from '@upfront/node'
import type { Address, BlockHeader, Hash } from '@upfront/protocol'
import { LRUCache } from 'lru-cache'

/** Logs of all kept blocks. */
const MOST_LOGS = 50_000
const ANSWER_BYTES = 32 * 1024 * 1024

/** A log of a sealed block, written as JSON once for all who are shown it. */
export class BlockLog {
  #json: string | undefined
  #removedJson: string | undefined

  /** @param fields as the node gave them */
  constructor(readonly fields: Readonly<Record<string, unknown>>) {}

  get address(): Address {
    return this.fields.address as Address
  }

  get topics(): readonly Hash[] {
    return this.fields.topics as Hash[]
  }

  get blockNumber(): unknown {
    return this.fields.blockNumber
  }

  get json(): string {
    this.#json ??= JSON.stringify(this.fields)
    return this.#json
  }

  /** As it is taken back by a reorganisation. */
  get removedJson(): string {
    this.#removedJson ??= JSON.stringify({ ...this.fields, removed: true })
    return this.#removedJson
  }
}

const NONE: readonly BlockLog[] = []

/** The logs of followed blocks as the node gives them, read once a block when somebody asks. */
@Injectable()
export class BlockLogs {
  private readonly kept = new LRUCache<Hash, readonly BlockLog[]>({
    maxSize: MOST_LOGS,
    sizeCalculation: (logs) => 1 + logs.length,
  })
  private readonly underWay = new Map<Hash, Promise<readonly BlockLog[]>>()

  constructor(private readonly queue: CallQueue) {}

  /**
   * All logs of the block.
   * @throws or rejects with UpstreamError, or the signal's reason
   */
  async of(
    { hash, logsBloom }: Pick<BlockHeader, 'hash' | 'logsBloom'>,
    { signal }: CallLimits = {},
  ): Promise<readonly BlockLog[]> {
    if (/^0x0*$/.test(logsBloom)) return NONE
    const kept = this.kept.get(hash)
    if (kept !== undefined) return kept
    let asked = this.underWay.get(hash)
    if (asked === undefined) {
      asked = this.ask(hash).finally(() => this.underWay.delete(hash))
      this.underWay.set(hash, asked)
    }
    return unlessAborted(asked, signal)
  }

  private async ask(hash: Hash): Promise<readonly BlockLog[]> {
    const outcome = await this.queue.send(logsCall(hash))
    if ('error' in outcome) throw outcome.error
    this.kept.set(hash, outcome.value)
    return outcome.value
  }
}

function logsCall(blockHash: Hash): UpstreamCall<BlockLog[]> {
  return {
    method: 'eth_getLogs',
    params: [{ blockHash }],
    decode: (result) => {
      if (!Array.isArray(result)) throw malformed('a list of logs', result)
      return result.map((log) => {
        if (!isLogOf(log, blockHash)) throw malformed(`a log of block ${blockHash}`, log)
        return new BlockLog(log)
      })
    },
    isShown: true,
    maxBytes: ANSWER_BYTES,
  }
}

function isLogOf(log: unknown, block: Hash): log is Record<string, unknown> {
  if (typeof log !== 'object' || log === null) return false
  const { address, topics, blockHash } = log as Record<string, unknown>
  return blockHash === block && typeof address === 'string' && Array.isArray(topics)
}
