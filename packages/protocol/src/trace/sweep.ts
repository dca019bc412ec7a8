import { decodeIndex } from '../block-parameter.js'
import { DecodeError, mismatch, Place } from '../decode/decode-error.js'
import { INSPECTION_FIELDS } from './inspection.js'

/** Positions in a block at which one call is tried, each as the number of transactions before it. */
export type SweptPositions = 'all' | number[]

/** The fields of `upfront_simulate` allowed together with `positions`. */
const SHOWN = ['assetChanges']

/**
 * Extracts `positions` from the payload of `upfront_simulate`, which then must have exactly one call.
 * @returns undefined if there is none
 * @throws DecodeError with the place of the error
 */
export function extractPositions(params: unknown): { positions: SweptPositions; params: unknown[] } | undefined {
  if (!Array.isArray(params) || typeof params[0] !== 'object' || params[0] === null) return undefined
  const { positions, ...payload } = params[0] as Record<string, unknown>
  if (positions === undefined || positions === null) return undefined
  const place = new Place(undefined, 'positions')
  const beside = INSPECTION_FIELDS.find(
    (field) => !SHOWN.includes(field) && payload[field] != null && payload[field] !== false,
  )
  if (beside !== undefined) throw new DecodeError(new Place(undefined, beside), 'cannot be combined with `positions`')
  if (positions !== 'all' && !(Array.isArray(positions) && positions.length > 0))
    throw mismatch(place, '"all" or a list of positions', positions)
  const { blockStateCalls } = payload
  const [first, ...others] = Array.isArray(blockStateCalls) ? blockStateCalls : []
  const calls: unknown = first?.calls
  if (others.length > 0 || !Array.isArray(calls) || calls.length !== 1)
    throw new DecodeError(
      new Place(undefined, 'blockStateCalls'),
      'expected one block with one call, as `positions` is set',
    )
  return {
    positions: positions === 'all' ? positions : positions.map((index, n) => decodeIndex(index, new Place(place, n))),
    params: [payload, ...params.slice(1)],
  }
}
