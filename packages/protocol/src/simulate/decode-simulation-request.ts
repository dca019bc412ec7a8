import { decodeStateParameter } from '../block-parameter.js'
import { DecodeError, mismatch, Place } from '../decode/decode-error.js'
import { decodeArray, decodeBoolean, decodeObject, rejectIfMistyped } from '../decode/structure.js'
import { type Later, mapInParts, type Parts } from '../parts.js'
import { ErrorCode, RpcError } from '../rpc-error.js'
import { decodeBlockOverrides } from './decode-block-overrides.js'
import { decodeCall } from './decode-call.js'
import { decodeStateOverrides } from './decode-state-overrides.js'
import type { SimulationLimits } from './simulation-limits.js'
import type { BlockStateCall, SimulationRequest } from './simulation-request.js'

const PAYLOAD_FIELDS = ['blockStateCalls', 'traceTransfers', 'validation', 'returnFullTransactions'] as const
const PAYLOAD_ALIASES = {
  blocks: 'blockStateCalls',
  calls: 'blockStateCalls',
  returnFullTransactionObjects: 'returnFullTransactions',
  validate: 'validation',
  stateOverrides: 'blockStateCalls[].stateOverrides',
  blockOverrides: 'blockStateCalls[].blockOverrides',
}
const BLOCK_FIELDS = ['blockOverrides', 'stateOverrides', 'calls'] as const
const BLOCK_ALIASES = { transactions: 'calls', stateDiff: 'stateOverrides', overrides: 'stateOverrides' }

/**
 * Decodes the `params` of `eth_simulateV1`: `[payload, blockParameter]`. The block defaults to `latest`. As in geth, a null field counts as
 * absent, an unknown field is ignored unless it looks like a typo, and everything is decoded before limits are checked.
 * @throws RpcError -32602 with the place of the error, e.g. `blockStateCalls[1].calls[0].gas: expected a hex quantity, got "21000"`;
 * -38026 over a limit
 */
export function decodeSimulationRequest(params: unknown, limits: SimulationLimits): SimulationRequest {
  const request = decode(params)
  checkCounts(request.blockStateCalls, limits)
  return request
}

/** Like {@link decodeSimulationRequest} for a long request, in parts. Long lists and maps are decoded last. */
export function* decodeSimulationRequestInParts(params: unknown, limits: SimulationLimits): Parts<SimulationRequest> {
  const later: Later = []
  const request = decode(params, later)
  // Deferred work may defer more work.
  for (const rest of later) {
    yield
    yield* rest
  }
  checkCounts(request.blockStateCalls, limits)
  return request
}

function decode(params: unknown, later?: Later): SimulationRequest {
  if (!Array.isArray(params)) throw mismatch(undefined, 'params to be [payload, blockParameter]', params)
  if (params.length > 2)
    throw new DecodeError(undefined, `expected two params, [payload, blockParameter], got ${params.length}`)
  const payload = decodeObject(params[0], 'an object with `blockStateCalls`', new Place(undefined, 'params[0]'))
  let blocks: BlockStateCall[] = []
  let traceTransfers = false
  let validation = false
  let returnFullTransactions = false
  for (const key of Object.keys(payload)) {
    const value = payload[key]
    switch (key) {
      case 'blockStateCalls':
        if (value !== null) blocks = decodeBlocks(value, later)
        break
      case 'traceTransfers':
        traceTransfers = value !== null && decodeBoolean(value, undefined, key)
        break
      case 'validation':
        validation = value !== null && decodeBoolean(value, undefined, key)
        break
      case 'returnFullTransactions':
        returnFullTransactions = value !== null && decodeBoolean(value, undefined, key)
        break
      default:
        rejectIfMistyped(key, PAYLOAD_FIELDS, PAYLOAD_ALIASES, undefined)
    }
  }
  const block = decodeStateParameter(params[1] ?? 'latest', new Place(undefined, 'params[1]'))
  return { blockStateCalls: blocks, traceTransfers, validation, returnFullTransactions, block }
}

function decodeBlocks(value: unknown, later: Later | undefined): BlockStateCall[] {
  const place = new Place(undefined, 'blockStateCalls')
  const blocks = decodeArray(value, 'an array of blocks', undefined, 'blockStateCalls')
  return mapInParts(blocks, (block, index) => decodeBlock(block, new Place(place, index), later), later, 1)
}

function checkCounts(blocks: readonly BlockStateCall[], limits: SimulationLimits): void {
  const place = new Place(undefined, 'blockStateCalls')
  if (blocks.length === 0) throw new DecodeError(place, 'expected at least one block (empty input)')
  if (blocks.length > limits.blocks) throw overLimit(place, `too many blocks: ${blocks.length} > ${limits.blocks}`)
  let totalCalls = 0
  for (const [index, { calls }] of blocks.entries()) {
    const block = new Place(place, index)
    if (calls.length > limits.callsPerBlock)
      throw overLimit(new Place(block, 'calls'), `too many calls in block: ${calls.length} > ${limits.callsPerBlock}`)
    totalCalls += calls.length
    if (totalCalls > limits.totalCalls) throw overLimit(block, `too many calls: ${totalCalls} > ${limits.totalCalls}`)
  }
}

function decodeBlock(value: unknown, place: Place, later: Later | undefined): BlockStateCall {
  const fields = decodeObject(value, 'a block object', place)
  const block: BlockStateCall = { calls: [], stateOverrides: [], blockOverrides: {} }
  for (const key of Object.keys(fields)) {
    const field = fields[key]
    switch (key) {
      case 'calls':
        if (field === null) break
        block.calls = decodeCalls(decodeArray(field, 'an array of calls', place, key), new Place(place, key), later)
        break
      case 'stateOverrides':
        if (field !== null) block.stateOverrides = decodeStateOverrides(field, new Place(place, key), later)
        break
      case 'blockOverrides':
        if (field !== null) block.blockOverrides = decodeBlockOverrides(field, new Place(place, key))
        break
      default:
        rejectIfMistyped(key, BLOCK_FIELDS, BLOCK_ALIASES, place)
    }
  }
  return block
}

function decodeCalls(calls: unknown[], place: Place, later: Later | undefined): BlockStateCall['calls'] {
  return mapInParts(calls, (call, index) => decodeCall(call, new Place(place, index), later), later)
}

function overLimit(place: Place, message: string): RpcError {
  return new RpcError(ErrorCode.clientLimitExceeded, `${place}: ${message}`)
}
