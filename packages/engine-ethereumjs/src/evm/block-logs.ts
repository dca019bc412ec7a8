import type { Log } from '@ethereumjs/evm'
import { bigIntToBytes, setLengthLeft } from '@ethereumjs/util'
import { bytesOf } from '../state/bytes.js'

/** ERC-7528: the address that logs of native transfers carry. */
const TRANSFER_EMITTER = bytesOf('0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee')
/** keccak256('Transfer(address,address,uint256)') */
const TRANSFER_TOPIC = bytesOf('0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef')

/** Whether it stands for a transfer: no contract emitted it, and no receipt contains it. */
export function isTransferLog(log: Log): boolean {
  return log[0] === TRANSFER_EMITTER
}

/** Counts the logs of the running block, and makes those of native transfers. */
export class BlockLogs {
  tracesTransfers = false
  /** Reverted ones included: geth counts them all. */
  #count = 0
  readonly #indices = new WeakMap<Log, number>()

  /** @param tracesTransfers whether native transfers are logged, in execution order; a frame that reverts loses its logs */
  begin(tracesTransfers: boolean): void {
    this.tracesTransfers = tracesTransfers
    this.#count = 0
  }

  /** Runs code whose logs take no index. */
  async apart<T>(run: () => Promise<T>): Promise<T> {
    const count = this.#count
    try {
      return await run()
    } finally {
      this.#count = count
    }
  }

  /** How many logs of the block were emitted before this one, which was emitted in this block. */
  indexOf(log: Log): number {
    return this.#indices.get(log)!
  }

  count(log: Log): void {
    this.#indices.set(log, this.#count++)
  }

  /** A transfer whose frame is given up before it is entered: geth has counted it by then. */
  countFailedTransfer(): void {
    if (this.tracesTransfers) this.#count++
  }

  transfer(from: Uint8Array, to: Uint8Array, value: bigint): Log {
    const topics = [TRANSFER_TOPIC, setLengthLeft(from, 32), setLengthLeft(to, 32)]
    const log: Log = [TRANSFER_EMITTER, topics, setLengthLeft(bigIntToBytes(value), 32)]
    this.count(log)
    return log
  }
}
