import { decodeList, decodeObject, ErrorCode, RpcError } from '@upfront/protocol'
import type { RpcMethod } from '../../requests/rpc-method.js'
import { listOf, type Recorder, type RecordingRequest } from './recorder.js'
import { failureOf } from './words.js'

// Erigon's bundles. Source: https://docs.erigon.tech (eth_callMany), and answers of reth and providers.

/** Erigon's names of block overrides, mapped to ours. */
const OVERRIDES: Readonly<Record<string, string>> = {
  blockNumber: 'number',
  coinbase: 'feeRecipient',
  timestamp: 'time',
  baseFee: 'baseFeePerGas',
  random: 'prevRandao',
}
const REFUSED = ['blockHash', 'difficulty']

export function callManyMethods(recorder: Recorder): [string, RpcMethod][] {
  return [
    [
      'eth_callMany',
      async (params, context) => {
        const [bundles, simulated, stateOverrides] = listOf(params, 4)
        const asked = bundlesOf(bundles, simulated, stateOverrides, 'params[2]', { decode: true })
        const { calls } = await recorder.record(asked.asked, context)
        return JSON.stringify(
          inBundles(
            calls.map(({ call }) => {
              const failure = failureOf(call)
              return failure === undefined ? { value: call.returnData } : { error: failure }
            }),
            asked.lengths,
          ),
        )
      },
    ],
    [
      'debug_traceCallMany',
      async (params, context) => {
        const [bundles, simulated, given] = listOf(params, 3)
        const { tracer, tracerConfig, stateOverrides, timeout: _, ...options } = decodeObject(given ?? {}, 'params[2]')
        const trace = { tracer: tracer ?? 'structLogger', tracerConfig: tracerConfig ?? (tracer ? {} : options) }
        const asked = bundlesOf(bundles, simulated, stateOverrides, 'params[2].stateOverrides', { trace })
        const { calls } = await recorder.record(
          { ...asked.asked, places: [...asked.asked.places, ['trace', 'params[2]']] },
          context,
        )
        return JSON.stringify(
          inBundles(
            calls.map(({ call }) => call.trace),
            asked.lengths,
          ),
        )
      },
    ],
  ]
}

function bundlesOf(
  given: unknown,
  simulated: unknown,
  stateOverrides: unknown,
  overridesPlace: string,
  shown: object,
): { asked: RecordingRequest; lengths: number[] } {
  const places: [string, string][] = []
  const lengths: number[] = []
  const blockStateCalls = decodeList(given, 'params[0]').map((bundle, index) => {
    const at = `params[0][${index}]`
    const fields = decodeObject(bundle, at)
    const calls = decodeList(fields.transactions, `${at}.transactions`)
    lengths.push(calls.length)
    const name = fields.blockOverride === undefined ? 'blockOverrides' : 'blockOverride'
    places.push([`blockStateCalls[${index}].calls`, `${at}.transactions`])
    places.push([`blockStateCalls[${index}].blockOverrides`, `${at}.${name}`])
    if (index === 0) places.push(['blockStateCalls[0].stateOverrides', overridesPlace])
    const overrides = fields[name]
    return {
      calls,
      ...(overrides != null && { blockOverrides: blockOverridesOf(overrides, `${at}.${name}`) }),
      ...(index === 0 && stateOverrides != null && { stateOverrides }),
    }
  })
  return { asked: { payload: { blockStateCalls, ...shown }, block: blockOf(simulated), places }, lengths }
}

function blockOverridesOf(given: unknown, place: string): object {
  const overrides: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(decodeObject(given, place))) {
    if (REFUSED.includes(name)) throw new RpcError(ErrorCode.invalidParams, `${place}.${name}: cannot be overridden`)
    overrides[OVERRIDES[name] ?? name] = value
  }
  return overrides
}

/** The state after a block, or after its first transactions; an index of -1 means all. */
function blockOf(simulated: unknown): unknown {
  if (simulated == null) return 'latest'
  const { blockNumber, transactionIndex } = decodeObject(simulated, 'params[1]')
  const block = blockNumber ?? 'latest'
  if (transactionIndex === undefined || transactionIndex === null || transactionIndex === -1) return block
  const isHash = typeof block === 'string' && block.length === 66
  return { [isHash ? 'blockHash' : 'blockNumber']: block, transactionIndex }
}

function inBundles<T>(results: T[], lengths: readonly number[]): T[][] {
  let next = 0
  return lengths.map((length) => {
    next += length
    return results.slice(next - length, next)
  })
}
