import { EventLoopTurn } from '@upfront/node'
import { type BlockHeader, decodeList, ErrorCode, RpcError } from '@upfront/protocol'
import type { CallRecord, InspectedBlock, InspectedCall } from '@upfront/simulation'
import type { RpcContext } from '../../requests/rpc-method.js'
import type { Simulator } from '../../simulate/simulator.js'

/** An `upfront_simulate` on behalf of another service's method. */
export interface RecordingRequest {
  payload: { blockStateCalls: object[] } & Record<string, unknown>
  block: unknown
  /** Maps places in the payload to places in the original request, for errors: the longest match wins. */
  places: readonly (readonly [inPayload: string, inRequest: string])[]
}

/** A recorded simulation. */
export interface Recorded {
  blocks: InspectedBlock[]
  /** All calls, in order. */
  calls: { call: InspectedCall; record: CallRecord; block: InspectedBlock }[]
  base: BlockHeader
  chainId: bigint
}

/** Runs the simulations behind other services' methods; those methods execute nothing themselves. */
export class Recorder {
  readonly #simulator: Simulator

  constructor(simulator: Simulator) {
    this.#simulator = simulator
  }

  /** @throws or rejects with what `Simulator.simulate` throws, with places of the original request */
  async record({ payload, block, places }: RecordingRequest, context: RpcContext): Promise<Recorded> {
    const params = [payload, block ?? 'latest']
    try {
      return await this.#simulator.simulate(
        'upfront_simulate',
        params,
        context.inDialect('ethereum'),
        async (answer, simulation, inspection) => {
          const { json, records } = answer
          const { base, rules } = simulation
          await context.simulated?.({ params, answer, simulation, inspection })
          const turn = new EventLoopTurn()
          const blocks: InspectedBlock[] = JSON.parse(json.toString())
          await turn.yieldIfLong()
          const calls = blocks.flatMap((each) => each.calls.map((call) => ({ call, block: each })))
          return {
            blocks,
            calls: calls.map((each, index) => ({ ...each, record: recordAt(records, index) })),
            base,
            chainId: rules.chainId,
          }
        },
      )
    } catch (error) {
      throw error instanceof RpcError ? placed(error, places) : error
    }
  }
}

function recordAt(records: readonly CallRecord[], index: number): CallRecord {
  const record = records[index]
  if (record === undefined) throw new Error('a call was not recorded')
  return record
}

function placed(error: RpcError, places: RecordingRequest['places']): RpcError {
  const [found] = places
    .filter(([inPayload]) => error.message.startsWith(inPayload))
    .sort(([one], [other]) => other.length - one.length)
  if (found === undefined) return error
  const [inPayload, inRequest] = found
  return new RpcError(error.code, inRequest + error.message.slice(inPayload.length), error.data)
}

/** The params of a method as a list. @throws RpcError -32602 */
export function listOf(params: unknown, most: number): unknown[] {
  const list = decodeList(params, 'params')
  if (list.length > most)
    throw new RpcError(ErrorCode.invalidParams, `params: expected at most ${most}, got ${list.length}`)
  return list
}
