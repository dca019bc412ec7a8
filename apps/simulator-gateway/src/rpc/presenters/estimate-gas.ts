import { ErrorCode, RpcError } from '@upfront/protocol'
import type { RpcMethod } from '../../requests/rpc-method.js'
import { listOf, type Recorder } from './recorder.js'
import { failureOf, given } from './words.js'

/**
 * `upfront_estimateGas`: like `eth_estimateGas`, but returns a limit with which no inner call runs out of gas, gas used and rollup fees.
 */
export function estimateMethods(recorder: Recorder): [string, RpcMethod][] {
  return [
    [
      'upfront_estimateGas',
      async (params, context) => {
        const [call, block, stateOverrides, blockOverrides] = listOf(params, 4)
        const { calls } = await recorder.record(
          {
            payload: {
              blockStateCalls: [{ ...given({ stateOverrides, blockOverrides }), calls: [call] }],
              ...{ gasLimits: true, fees: true, decode: true },
            },
            block,
            places: [
              ['blockStateCalls[0].calls[0]', 'params[0]'],
              ['blockStateCalls[0].stateOverrides', 'params[2]'],
              ['blockStateCalls[0].blockOverrides', 'params[3]'],
            ],
          },
          context,
        )
        const [{ call: made }] = calls as [(typeof calls)[number]]
        const failure = failureOf(made)
        if (failure !== undefined) {
          const { code, data } = made.error as { code: number; data?: unknown }
          throw new RpcError(code as ErrorCode, failure, data)
        }
        const { gasUsed, gasLimit, rollupFees } = made
        if (gasLimit === undefined)
          throw new RpcError(ErrorCode.limitExceeded, 'no gas limit with the same outcome was found within 128 runs')
        return JSON.stringify({ gas: gasLimit, gasUsed, ...(rollupFees && { rollupFees }) })
      },
    ],
  ]
}
