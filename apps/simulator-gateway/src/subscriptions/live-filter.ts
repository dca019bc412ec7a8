import { type BlockParameter, DecodeError, decodeLogFilter, type LogFilter, logMatches, Place } from '@upfront/protocol'

type LiveLog = Parameters<typeof logMatches>[0] & { blockNumber?: unknown }

const END = (1n << 64n) - 1n

/**
 * The filter of `logs` and `pendingLogs`. As in geth, `fromBlock` and `toBlock` limit which new blocks' logs are sent, and never cause old
 * logs to be sent: go-ethereum's client always sets them.
 * @param at index of the parameter
 * @returns whether a log passes the filter
 * @throws RpcError -32602 that names the field
 */
export function liveFilter(value: unknown, at = 1): (log: LiveLog) => boolean {
  const place = new Place(undefined, `params[${at}]`)
  const filter: LogFilter = decodeLogFilter(value ?? {}, place)
  if (filter.blockHash !== undefined)
    throw new DecodeError(new Place(place, 'blockHash'), 'a subscription reports new blocks only: use eth_getLogs')
  const from = bound(filter.fromBlock, 0n, new Place(place, 'fromBlock'))
  const to = bound(filter.toBlock, END, new Place(place, 'toBlock'))
  const isFromLatest = filter.fromBlock === undefined || isLatest(filter.fromBlock)
  if (isFromLatest && to < END) throw new DecodeError(undefined, 'invalid block range params')
  if (from > to) throw new DecodeError(new Place(place, 'toBlock'), 'is before `fromBlock`')
  const isBounded = from > 0n || to < END
  return (log) => {
    if (!logMatches(log, filter)) return false
    if (!isBounded) return true
    const number = BigInt(String(log.blockNumber))
    return number >= from && number <= to
  }
}

function isLatest(block: BlockParameter): boolean {
  return block.kind === 'tag' && block.tag === 'latest'
}

function bound(block: BlockParameter | undefined, latest: bigint, place: Place): bigint {
  if (block === undefined || isLatest(block)) return latest
  if (block.kind === 'tag' && block.tag === 'earliest') return 0n
  if (block.kind === 'number') return block.number
  throw new DecodeError(place, 'expected a number, `earliest` or `latest`')
}
