import { type BlockParameter, decodeBlockNumber } from '../block-parameter.js'
import { decodeAddress, decodeBytes32 } from '../decode/bytes.js'
import { DecodeError, mismatch, Place } from '../decode/decode-error.js'
import { decodeObject, rejectMistyped } from '../decode/structure.js'
import type { Address, Hash } from '../hex.js'
import { ErrorCode, RpcError } from '../rpc-error.js'

/** The decoded filter of `eth_getLogs`. */
export interface LogFilter {
  /** Defaults to `latest`. Both are absent if `blockHash` is given. */
  fromBlock?: BlockParameter
  toBlock?: BlockParameter
  blockHash?: Hash
  /** Empty: any address. */
  addresses: ReadonlySet<Address>
  /** Alternatives per position; empty: any topic. */
  topics: ReadonlySet<Hash>[]
}

const FIELDS = ['fromBlock', 'toBlock', 'blockHash', 'address', 'topics'] as const
const MAX_ADDRESSES = 1_000
const MAX_TOPICS = 4
const MAX_ALTERNATIVES = 1_000

/**
 * Decodes the filter of `eth_getLogs` with geth's limits (`eth/filters`).
 * @throws DecodeError that names the field; RpcError -32000 for more than 1,000 addresses
 */
export function decodeLogFilter(value: unknown, place: Place): LogFilter {
  const fields = decodeObject(value, 'a filter object', place)
  rejectMistyped(fields, FIELDS, {}, place)
  const { fromBlock, toBlock, blockHash, address, topics } = fields
  const filter: LogFilter = { addresses: decodeAddresses(address ?? [], place), topics: decodeTopics(topics, place) }
  if (blockHash != null) {
    if (fromBlock != null || toBlock != null)
      throw new DecodeError(place, '`blockHash` cannot be combined with `fromBlock` or `toBlock`')
    filter.blockHash = decodeBytes32(blockHash, place, 'blockHash')
  }
  if (fromBlock != null) filter.fromBlock = decodeBlockNumber(fromBlock, new Place(place, 'fromBlock'))
  if (toBlock != null) filter.toBlock = decodeBlockNumber(toBlock, new Place(place, 'toBlock'))
  return filter
}

/** Whether a log matches the filter's addresses and topics. */
export function logMatches(
  log: { address: string; topics: readonly string[] },
  { addresses, topics }: Pick<LogFilter, 'addresses' | 'topics'>,
): boolean {
  return (
    (addresses.size === 0 || addresses.has(log.address as Address)) &&
    topics.length <= log.topics.length &&
    topics.every((wanted, at) => wanted.size === 0 || wanted.has(log.topics[at] as Hash))
  )
}

function decodeAddresses(value: unknown, place: Place): Set<Address> {
  if (!Array.isArray(value)) return new Set([decodeAddress(value, place, 'address')])
  const addresses = new Place(place, 'address')
  if (value.length > MAX_ADDRESSES)
    throw new RpcError(ErrorCode.serverError, 'exceed max addresses or topics per search position')
  return new Set(value.map((address, index) => decodeAddress(address, addresses, index)))
}

function decodeTopics(value: unknown, place: Place): Set<Hash>[] {
  const topics = new Place(place, 'topics')
  if (value === undefined || value === null) return []
  if (!Array.isArray(value) || value.length > MAX_TOPICS)
    throw mismatch(topics, `an array of at most ${MAX_TOPICS} topics`, value)
  return value.map((topic, index) => {
    if (topic === null) return new Set()
    if (!Array.isArray(topic)) return new Set([decodeBytes32(topic, topics, index)])
    const alternatives = new Place(topics, index)
    if (topic.length > MAX_ALTERNATIVES) throw mismatch(alternatives, `at most ${MAX_ALTERNATIVES} topics`, topic)
    // As in geth, null among the alternatives matches everything.
    if (topic.includes(null)) return new Set()
    return new Set(topic.map((one, at) => decodeBytes32(one, alternatives, at)))
  })
}
