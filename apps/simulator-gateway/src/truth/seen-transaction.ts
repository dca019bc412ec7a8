import type { Hash, Hex } from '@upfront/protocol'

/** A transaction seen before it was mined. */
export interface SeenTransaction {
  hash: Hash
  source: 'waiting' | 'underConstruction'
  /** As a call of `upfront_simulate`; undefined if the node sent only the hash. */
  call?: object | Hex
  /** The block parameter to predict it on. */
  on: unknown
}

const HASH = /^0x[0-9a-f]{64}$/
/** Fields of a transaction that make a call; the price fields depend on its type. */
const FIELDS = ['from', 'to', 'gas', 'value', 'nonce', 'input', 'maxFeePerBlobGas', 'blobVersionedHashes'] as const

/**
 * A transaction from a node's JSON-RPC: a hash, or a full transaction. Undefined for anything else, and for OP-stack deposits, which are
 * never pending.
 * @param on the block parameter to predict it on
 */
export function waitingTransaction(told: unknown, on: unknown): SeenTransaction | undefined {
  if (typeof told === 'string') return HASH.test(told) ? { hash: told as Hash, source: 'waiting', on } : undefined
  if (typeof told !== 'object' || told === null) return undefined
  const given = told as Record<string, unknown>
  const { hash, type = '0x0' } = given
  if (typeof hash !== 'string' || !HASH.test(hash) || type === '0x7e') return undefined
  const names: string[] = [
    ...FIELDS,
    ...(type === '0x0' || type === '0x1' ? ['gasPrice'] : ['maxFeePerGas', 'maxPriorityFeePerGas']),
    ...(type === '0x0' ? [] : ['accessList']),
    ...(type === '0x4' ? ['authorizationList'] : []),
  ]
  const call = Object.fromEntries(names.filter((name) => given[name] != null).map((name) => [name, given[name]]))
  return { hash: hash as Hash, source: 'waiting', call, on }
}
