import { decodeBytes, decodeFixedBytes, decodeQuantity, malformed } from '@upfront/node'

/** @throws UpstreamFault if the value has another shape */
type Check = (value: unknown) => void

const bytes: Check = decodeBytes
const hash: Check = (value) => decodeFixedBytes(value, 32)
const address: Check = (value) => decodeFixedBytes(value, 20)
const quantity: Check = (value) => decodeQuantity(value)
/** A number of blocks, seconds, transactions, logs or gas. */
const count: Check = (value) => decodeQuantity(value, 53)

const optional =
  (check: Check): Check =>
  (value) => {
    if (value !== undefined && value !== null) check(value)
  }

const list =
  (check: Check): Check =>
  (value) => {
    if (!Array.isArray(value)) throw malformed('a list', value)
    for (const each of value) check(each)
  }

const object =
  (fields: Record<string, Check>): Check =>
  (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed('an object', value)
    for (const [name, check] of Object.entries(fields)) check((value as Record<string, unknown>)[name])
  }

const call = { to: optional(address), input: bytes }
const transaction = object({ hash, ...call })
const block = object({
  number: count,
  hash,
  parentHash: hash,
  timestamp: count,
  baseFeePerGas: optional(quantity),
  transactions: list((each) => (typeof each === 'string' ? hash(each) : transaction(each))),
})
const log = object({
  ...{ address, data: bytes, topics: list(hash) },
  ...{ transactionHash: hash, blockNumber: count, logIndex: count },
})
const receipt = object({
  ...{ transactionHash: hash, from: address, to: optional(address), status: count, logs: list(log) },
  ...{ blockNumber: optional(count), blockHash: optional(hash) },
  ...{ gasUsed: count, effectiveGasPrice: quantity, l1Fee: optional(quantity) },
})

/** The shape of the results of each method that billing reads. */
const RESULTS = new Map<string, Check>([
  ['eth_call', bytes],
  ['eth_createAccessList', object({ accessList: list(object({ address, storageKeys: list(hash) })) })],
  ['eth_estimateGas', quantity],
  ['eth_getBalance', quantity],
  ['eth_getBlockByNumber', block],
  ['eth_getBlockReceipts', list(optional(receipt))],
  ['eth_getCode', bytes],
  ['eth_getLogs', list(log)],
  ['eth_getTransactionByHash', object(call)],
  ['eth_getTransactionCount', count],
  ['eth_getTransactionReceipt', receipt],
  ['eth_maxPriorityFeePerGas', quantity],
  ['eth_simulateV1', list(object({ calls: list(object({ status: count, returnData: bytes })) }))],
])

/** Only the number of the final block is read. */
const FINAL_BLOCK = object({ number: count })

/** Checks a result that is not null. @throws UpstreamFault if it does not have the shape of the method's results */
export function checkResult(method: string, [first]: readonly unknown[], result: unknown): void {
  const check = method === 'eth_getBlockByNumber' && first === 'finalized' ? FINAL_BLOCK : RESULTS.get(method)
  check?.(result)
}
