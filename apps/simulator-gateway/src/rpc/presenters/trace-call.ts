import { decodeList, ErrorCode, type Hex, RpcError, toQuantity } from '@upfront/protocol'
import { type CallRecord, type Frame, haltMessage, type RecordedAccount } from '@upfront/simulation'
import type { RpcContext, RpcMethod } from '../../requests/rpc-method.js'
import { listOf, type Recorder, type RecordingRequest } from './recorder.js'
import { traceAddresses } from './words.js'

// OpenEthereum's traces. Source: https://openethereum.github.io/JSONRPC-trace-module and answers of Erigon, Nethermind and reth.

const TYPES = ['trace', 'stateDiff']

export function traceMethods(recorder: Recorder): [string, RpcMethod][] {
  const record = async (asked: RecordingRequest, types: readonly string[][], context: RpcContext) => {
    const { calls } = await recorder.record(asked, context)
    return calls.map(({ record }, index) => ({
      output: record.frames[0]?.output ?? '0x',
      stateDiff: types[index]!.includes('stateDiff') ? stateDiff(record) : null,
      trace: types[index]!.includes('trace') ? actions(record) : [],
      vmTrace: null,
    }))
  }
  const payload = (calls: unknown[]) => ({ blockStateCalls: [{ calls }], trace: true, stateDiff: true })
  return [
    [
      'trace_call',
      async (params, context) => {
        const [call, types, block] = listOf(params, 3)
        const places = [['blockStateCalls[0].calls[0]', 'params[0]']] as const
        const asked = { payload: payload([call]), block, places }
        return JSON.stringify((await record(asked, [typesOf(types, 'params[1]')], context))[0])
      },
    ],
    [
      'trace_callMany',
      async (params, context) => {
        const [given, block] = listOf(params, 2)
        const pairs = decodeList(given, 'params[0]').map((pair, index) => decodeList(pair, `params[0][${index}]`))
        const types = pairs.map(([, wanted], index) => typesOf(wanted, `params[0][${index}][1]`))
        const places = pairs.map(
          (_, index) => [`blockStateCalls[0].calls[${index}]`, `params[0][${index}][0]`] as const,
        )
        const asked = { payload: payload(pairs.map(([call]) => call)), block, places }
        return JSON.stringify(await record(asked, types, context))
      },
    ],
  ]
}

function typesOf(given: unknown, place: string): string[] {
  return decodeList(given, place).map((type, index) => {
    if (typeof type === 'string' && TYPES.includes(type)) return type
    throw new RpcError(
      ErrorCode.invalidParams,
      type === 'vmTrace'
        ? `${place}[${index}]: vmTrace is not supported: use debug_traceCall without a tracer to see each instruction`
        : `${place}[${index}]: expected one of ${TYPES.join(', ')}`,
    )
  })
}

/** Calls of precompiles are left out, except at the top. */
function actions({ frames }: CallRecord): unknown[] {
  const shown = frames.filter(({ isPrecompile, depth }) => depth === 0 || !isPrecompile)
  return traceAddresses(shown).map(({ frame, traceAddress, subtraces }) => ({
    ...actionOf(frame),
    subtraces,
    traceAddress,
  }))
}

function actionOf(frame: Frame): object {
  const { kind, from, to, input, output, gas, value = 0n } = frame
  if (kind === 'SELFDESTRUCT')
    return { action: { address: from, refundAddress: to, balance: toQuantity(value) }, result: null, type: 'suicide' }
  const given = { from, gas: toQuantity(gas), value: toQuantity(value) }
  const gasUsed = toQuantity(frame.gasUsed)
  if (kind === 'CREATE' || kind === 'CREATE2') {
    const action = { ...given, init: input, creationMethod: kind.toLowerCase() }
    return { action, ...outcomeOf(frame, { address: to, code: output, gasUsed }), type: 'create' }
  }
  const action = { ...given, callType: kind.toLowerCase(), to, input }
  return { action, ...outcomeOf(frame, { gasUsed, output }), type: 'call' }
}

/** A revert has output, a halt has none. */
function outcomeOf({ reverted, halt, gasUsed, output }: Frame, result: object): object {
  if (reverted && halt === undefined) return { error: 'Reverted', result: { gasUsed: toQuantity(gasUsed), output } }
  return halt === undefined ? { result } : { error: errorOf(haltMessage(halt)), result: null }
}

/** Translates geth's messages to OpenEthereum's. */
function errorOf(message: string): string {
  if (/out of gas/.test(message)) return 'Out of gas'
  if (/^invalid opcode/.test(message)) return 'Bad instruction'
  if (/^invalid jump/.test(message)) return 'Bad jump destination'
  if (/^stack underflow/.test(message)) return 'Stack underflow'
  if (/^stack limit/.test(message)) return 'Out of stack'
  if (/^write protection/.test(message)) return 'Mutable Call In Static Context'
  return message
}

type Difference<T> = '=' | { '*': { from: T; to: T } } | { '+': T } | { '-': T }

function stateDiff({ accounts }: CallRecord): object {
  const diff: Record<string, object> = {}
  for (const account of [...accounts].sort((one, other) => (one.address < other.address ? -1 : 1))) {
    const changed = accountDiff(account)
    if (changed !== undefined) diff[account.address] = changed
  }
  return diff
}

function accountDiff({ before, after, slots, isRemoved }: RecordedAccount): object | undefined {
  const [was, is] = [before.exists, after.exists && !isRemoved]
  const difference = <T>(from: T, to: T): Difference<T> => {
    if (!was && is) return { '+': to }
    if (was && !is) return { '-': from }
    return from === to ? '=' : { '*': { from, to } }
  }
  const code = before.code ?? '0x'
  const storage: Record<Hex, object> = {}
  for (const { slot, before: from, after: to } of slots)
    if (from !== to) storage[slot] = was && is ? { '*': { from, to } } : { [is ? '+' : '-']: is ? to : from }
  const shown = {
    balance: difference(toQuantity(before.balance), toQuantity(after.balance)),
    code: difference(code, after.code ?? code),
    nonce: difference(toQuantity(before.nonce), toQuantity(after.nonce)),
    storage,
  }
  const isSame = [shown.balance, shown.code, shown.nonce].every((each) => each === '=')
  return (!was && !is) || (isSame && Object.keys(storage).length === 0) ? undefined : shown
}
