import {
  type BlockDraft,
  type CallDraft,
  type Draft,
  draftWith,
  EMPTY_BLOCK,
  EMPTY_CALL,
  textOf,
} from '../request/draft.js'
import { isObject } from '../request/json.js'
import { callFromJson } from './call-json.js'
import { demandChain, type PasteContext, type Pasted, pasteError } from './pasted.js'

/** Fields of the payload that the page sets itself. */
const OWN_FIELDS = [
  ...['blockStateCalls', 'validation', 'traceTransfers', 'returnFullTransactions'],
  ...['trace', 'stateDiff', 'assetChanges', 'accessLists', 'gasLimits', 'decode', 'fees', 'link'],
]

/** Decodes params of `eth_simulateV1` or `upfront_simulate`. @param state the second param @throws DraftError */
export function simulateRequest(payload: Record<string, unknown>, state: unknown, context: PasteContext): Pasted {
  const { blockStateCalls, validation, abi } = payload
  if (!Array.isArray(blockStateCalls) || blockStateCalls.length === 0) throw pasteError('the request has no blocks')
  const notes: string[] = []
  const unknown = Object.keys(payload).filter((name) => ![...OWN_FIELDS, 'abi'].includes(name))
  if (unknown.length > 0) notes.push(`Not simulated: ${unknown.join(', ')}`)
  const draft: Draft = {
    blocks: blockStateCalls.map((block) => pastedBlock(block, notes, context)),
    abi: Array.isArray(abi) ? JSON.stringify(abi) : '',
    validation: validation === true ? 'yes' : '',
    state: stateText(state),
  }
  return { kind: 'Simulation request', draft, notes }
}

/** Decodes params of `eth_call` and similar methods: a call, the state, overrides. @throws DraftError */
export function callRequest(method: string, params: unknown[], context: PasteContext): Pasted {
  const [call, state, overrides] = params
  if (!isObject(call)) throw pasteError('the request has no call')
  const notes: string[] = []
  const draft = draftWith([pastedCall(call, notes, context)], { state: stateText(state) })
  const blocks = draft.blocks.map((block) => ({
    ...block,
    overrides: isObject(overrides) ? JSON.stringify(overrides, null, 2) : '',
  }))
  return { kind: `Request of ${method}`, draft: { ...draft, blocks }, notes }
}

/** Decodes params of `wallet_sendCalls` (EIP-5792). @throws DraftError */
export function sendCalls(given: Record<string, unknown>, context: PasteContext): Pasted {
  demandChain(given.chainId, context)
  const list = given.calls as unknown[]
  const notes: string[] = []
  const calls = list.map((call) => {
    if (!isObject(call)) throw pasteError('calls: not a list of calls')
    const { capabilities, ...fields } = call
    if (capabilities !== undefined) notes.push('Not simulated: capabilities')
    return { ...pastedCall(fields, notes, context), from: textOf(given.from) }
  })
  if (calls.length === 0) throw pasteError('calls: an empty list')
  return { kind: `Batch of ${calls.length} calls for a wallet`, draft: draftWith(calls), notes }
}

/** A call, whose chain must be this one. @throws DraftError */
export function pastedCall(call: Record<string, unknown>, notes: string[], context: PasteContext): CallDraft {
  demandChain(call.chainId, context)
  return callFromJson(call, notes)
}

function pastedBlock(block: unknown, notes: string[], context: PasteContext): BlockDraft {
  if (!isObject(block)) throw pasteError('blockStateCalls: not a list of blocks')
  const { calls = [], stateOverrides, blockOverrides, ...unknown } = block
  if (Object.keys(unknown).length > 0) notes.push(`Not simulated: ${Object.keys(unknown).join(', ')} of a block`)
  if (!Array.isArray(calls) || !calls.every(isObject)) throw pasteError('calls: not a list of calls')
  const { number, time, baseFeePerGas, ...more } = isObject(blockOverrides) ? blockOverrides : {}
  return {
    ...EMPTY_BLOCK,
    calls: calls.length === 0 ? [EMPTY_CALL] : calls.map((call) => pastedCall(call, notes, context)),
    overrides: isObject(stateOverrides) ? JSON.stringify(stateOverrides, null, 2) : '',
    ...{ number: textOf(number), time: textOf(time), baseFee: textOf(baseFeePerGas) },
    more: Object.keys(more).length === 0 ? '' : JSON.stringify(more),
  }
}

/** `latest` and `pending` are compared by default anyway. */
function stateText(state: unknown): string {
  if (isObject(state)) return textOf(state.blockHash ?? state.blockNumber)
  const text = textOf(state)
  return text === 'latest' || text === 'pending' ? '' : text
}
