import type { KnownChange } from '@upfront/chain'
import {
  decodeBytes32,
  decodeQuantity,
  ErrorCode,
  type Hash,
  type Hex,
  mismatch,
  Place,
  RpcError,
} from '@upfront/protocol'
import type { UnsealedLog } from '../pending/unsealed-logs.js'

/** Most notifications that are sent again; a client that missed more has to subscribe without `resume`. */
const MAX_REPLAYED = 1_000
const MAX_REPLAYED_LENGTH = 768 * 1024

/** The last log that a client received. */
export interface LogPosition extends KnownChange {
  /** Undefined if the client has all logs of the block. */
  logIndex: bigint | undefined
}

/** A block under construction up to a flashblock. */
export interface FlashblockPosition {
  number: bigint
  payloadId: Hex
  flashblock: number
}

type Notification = Record<string, unknown>

/**
 * The client's last notification, from `{"resume": …}`.
 * @param at index of the parameter of `eth_subscribe`
 * @throws DecodeError
 */
function lastNotification(options: unknown, at: number): { last: Notification; place: Place } | undefined {
  if (options === undefined || options === null) return undefined
  const place = new Place(undefined, `params[${at}]`)
  if (!isObject(options)) throw mismatch(place, 'an object with `resume`', options)
  for (const name of Object.keys(options))
    if (name !== 'resume') throw mismatch(place, 'no field other than `resume`', name)
  const inside = new Place(place, 'resume')
  if (!isObject(options.resume)) throw mismatch(inside, 'the last notification received', options.resume)
  return { last: options.resume, place: inside }
}

/** @throws DecodeError that names the field */
export function headPosition(options: unknown): KnownChange | undefined {
  const given = lastNotification(options, 1)
  if (given === undefined) return undefined
  const { last, place } = given
  const number = decodeQuantity(last.number, 64, place, 'number')
  return { kind: 'added', number, hash: decodeBytes32(last.hash, place, 'hash') }
}

/** @throws DecodeError that names the field */
export function logPosition(options: unknown): LogPosition | undefined {
  const given = lastNotification(options, 2)
  if (given === undefined) return undefined
  const { last, place } = given
  return {
    kind: last.removed === true ? 'removed' : 'added',
    number: decodeQuantity(last.blockNumber, 64, place, 'blockNumber'),
    hash: decodeBytes32(last.blockHash, place, 'blockHash'),
    logIndex: last.logIndex === undefined ? undefined : decodeQuantity(last.logIndex, 64, place, 'logIndex'),
  }
}

/** @throws DecodeError that names the field */
export function flashblockPosition(options: unknown): FlashblockPosition | undefined {
  const given = lastNotification(options, 1)
  if (given === undefined) return undefined
  const { last, place } = given
  return { number: decodeQuantity(last.number, 64, place, 'number'), ...payloadPosition(last, place) }
}

/** @returns a function that matches the client's last event @throws DecodeError that names the field */
export function unsealedLogPosition(options: unknown): ((log: UnsealedLog) => boolean) | undefined {
  const given = lastNotification(options, 2)
  if (given === undefined) return undefined
  const { last, place } = given
  const { payloadId, flashblock } = payloadPosition(last, place)
  const transactionHash = decodeBytes32(last.transactionHash, place, 'transactionHash') as Hash
  const logIndex = decodeQuantity(last.logIndex, 64, place, 'logIndex')
  return (log) =>
    log.transactionHash === transactionHash &&
    BigInt(log.logIndex) === logIndex &&
    log.payloadId === payloadId &&
    log.flashblock === flashblock &&
    (log.confirmed === true) === (last.confirmed === true) &&
    log.removed === (last.removed === true)
}

/**
 * Sends missed notifications again.
 * @throws RpcError -32005 if there are too many; nothing is sent then
 */
export function replay(notify: (result: string) => void, results: readonly string[]): void {
  const length = results.reduce((sum, result) => sum + result.length, 0)
  if (results.length > MAX_REPLAYED || length > MAX_REPLAYED_LENGTH)
    throw new RpcError(
      ErrorCode.limitExceeded,
      `resume: ${results.length} notifications came since then, more than are sent again: subscribe without it`,
    )
  for (const result of results) notify(result)
}

/** The error for a position that is not among the recent blocks under construction. */
export function unknownUnsealedPosition(): RpcError {
  return new RpcError(
    ErrorCode.resourceNotFound,
    'resume: this position is older than those kept, or was never sent by this server: subscribe without it, and use eth_getLogs for the blocks since then',
  )
}

function payloadPosition(last: Notification, place: Place): { payloadId: Hex; flashblock: number } {
  const { payloadId, flashblock } = last
  if (typeof payloadId !== 'string' || !/^0x[0-9a-f]{16}$/.test(payloadId))
    throw mismatch(new Place(place, 'payloadId'), '8 bytes in hex', payloadId)
  if (!Number.isSafeInteger(flashblock)) throw mismatch(new Place(place, 'flashblock'), 'a whole number', flashblock)
  return { payloadId: payloadId as Hex, flashblock: flashblock as number }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
