import { decodeObject, ErrorCode, INSPECTION_FIELDS, RpcError } from '@upfront/protocol'
import type { RpcMethod } from '../../requests/rpc-method.js'
import { listOf, type Recorder } from './recorder.js'
import { given as present } from './words.js'

const CALL_FIELDS = ['userOperation', 'entryPoint']
const BLOCK_FIELDS = ['stateOverrides', 'blockOverrides']
const KNOWN: readonly string[] = [...CALL_FIELDS, ...BLOCK_FIELDS, ...INSPECTION_FIELDS]

/** `upfront_simulateUserOperation`: simulates one user operation with `upfront_simulate` and presents its outcome. */
export function userOperationMethods(recorder: Recorder): [string, RpcMethod][] {
  return [
    [
      'upfront_simulateUserOperation',
      async (params, context) => {
        const [given, block] = listOf(params, 2)
        const { userOperation, entryPoint, stateOverrides, blockOverrides, ...shown } = decodeObject(given, 'params[0]')
        const unknown = Object.keys(shown).find((name) => !KNOWN.includes(name))
        if (unknown !== undefined)
          throw new RpcError(
            ErrorCode.invalidParams,
            `params[0].${unknown}: unknown field; known fields: ${KNOWN.join(', ')}`,
          )
        const fields = present({ stateOverrides, blockOverrides })
        const { blocks } = await recorder.record(
          {
            payload: { blockStateCalls: [{ ...fields, calls: [{ userOperation, entryPoint }] }], ...shown },
            block,
            places: [
              ['blockStateCalls[0].calls[0]', 'params[0]'],
              ['blockStateCalls[0]', 'params[0]'],
              ...INSPECTION_FIELDS.map((name): [string, string] => [name, `params[0].${name}`]),
            ],
          },
          context,
        )
        const { calls, number, hash: _, ...rest } = blocks.at(-1)!
        const { userOperation: operation, ...transaction } = calls[0]!
        const { timestamp, baseFeePerGas, link } = rest
        return JSON.stringify({
          ...operation,
          ...(link !== undefined && { link }),
          block: { number, timestamp, baseFeePerGas },
          transaction,
        })
      },
    ],
  ]
}
