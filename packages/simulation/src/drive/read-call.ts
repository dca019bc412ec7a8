import type { UpstreamCall } from '@upfront/node'
import { decodeBytes, decodeQuantity, decodeWord } from '@upfront/node'
import type { StateRead, StateValue } from '../engine/state.js'

/** The block to read at: an EIP-1898 block hash, a number or a tag. */
export type BlockReference = { blockHash: string } | string

export type AccountRead = Exclude<StateRead, { kind: 'blockHash' }>

const WORD_BYTES = 256
/** Response limit for code: EIP-170 allows 24,576 bytes, some rollups ten times that. */
const CODE_BYTES = 1024 * 1024

/** The JSON-RPC call for a read of an account. Its params need no JSON escaping. */
export function readCall(read: AccountRead, at: BlockReference): UpstreamCall<StateValue> {
  const block = typeof at === 'string' ? `"${at}"` : `{"blockHash":"${at.blockHash}"}`
  const params = `["${read.address}",${block}]`
  switch (read.kind) {
    case 'balance':
      return { method: 'eth_getBalance', params, decode: decodeQuantity, maxBytes: WORD_BYTES }
    case 'nonce':
      return { method: 'eth_getTransactionCount', params, decode: decodeNonce, maxBytes: WORD_BYTES }
    case 'code':
      return { method: 'eth_getCode', params, decode: decodeBytes, maxBytes: CODE_BYTES }
    case 'storage': {
      const params = `["${read.address}","${read.slot}",${block}]`
      return { method: 'eth_getStorageAt', params, decode: decodeWord, maxBytes: WORD_BYTES }
    }
  }
}

function decodeNonce(result: unknown): bigint {
  return decodeQuantity(result, 64)
}
