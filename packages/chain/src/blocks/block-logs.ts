import { type CallLimits, type CallQueue, malformed } from '@upfront/node'
import type { Address, BlockHeader, Hash, Hex } from '@upfront/protocol'
import { AskedOnce, type BlockQuestion } from './asked-once.js'

/** Logs of all kept blocks. */
const MOST_LOGS = 50_000

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
export class BlockLogs {
  readonly #asked: AskedOnce<readonly BlockLog[]>

  constructor(queue: CallQueue) {
    this.#asked = new AskedOnce(queue, MOST_LOGS, (logs) => 1 + logs.length)
  }

  /**
   * All logs of the block.
   * @throws or rejects with UpstreamError, or the signal's reason
   */
  async of(
    { hash, logsBloom }: Pick<BlockHeader, 'hash' | 'logsBloom'>,
    { signal }: CallLimits = {},
  ): Promise<readonly BlockLog[]> {
    return hasNoLogs(logsBloom) ? NONE : this.#asked.of(hash, logsCall(hash), signal)
  }
}

/** Whether a block with this bloom has no logs. */
export function hasNoLogs(logsBloom: Hex): boolean {
  return /^0x0*$/.test(logsBloom)
}

function logsCall(blockHash: Hash): BlockQuestion<BlockLog[]> {
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
  }
}

function isLogOf(log: unknown, block: Hash): log is Record<string, unknown> {
  if (typeof log !== 'object' || log === null) return false
  const { address, topics, blockHash } = log as Record<string, unknown>
  return blockHash === block && typeof address === 'string' && Array.isArray(topics)
}
