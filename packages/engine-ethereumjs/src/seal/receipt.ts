import type { ExecutedLog } from '@upfront/simulation'
import { logsBloom } from './bloom.js'
import { encodeRlp, withType } from './rlp.js'

export interface Receipt {
  bloom: Uint8Array
  /** Consensus encoding (EIP-2718). */
  encoded: Uint8Array
}

export function sealReceipt(type: number, succeeded: boolean, cumulativeGasUsed: bigint, logs: ExecutedLog[]): Receipt {
  const bloom = logsBloom(logs)
  const items = logs.map(({ address, topics, data }) => [address, topics, data])
  return { bloom, encoded: withType(type, encodeRlp([succeeded ? 1n : 0n, cumulativeGasUsed, bloom, items])) }
}
