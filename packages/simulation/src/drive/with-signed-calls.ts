import { type Call, ErrorCode, RpcError, type SignedTransactionCall } from '@upfront/protocol'
import { readSignedCall } from '../decode/signed-call.js'
import type { Simulation } from './simulate.js'

/**
 * The simulation with signed transactions decoded to calls.
 * @throws RpcError -32602 with the place of one that is malformed, or for another chain
 */
export async function withSignedCalls(
  simulation: Simulation,
  signed: readonly SignedTransactionCall[],
): Promise<Simulation> {
  const { request, rules } = simulation
  const blocks = request.blockStateCalls.map((block) => ({ ...block, calls: [...block.calls] }))
  for (const { block, call, raw, place } of signed) {
    const calls: Call[] | undefined = blocks[block]?.calls
    if (calls !== undefined) calls[call] = await readSigned(raw, rules.chainId, place)
  }
  return { ...simulation, request: { ...request, blockStateCalls: blocks } }
}

/** @throws RpcError -32602, see `withSignedCalls` */
export async function readSigned(raw: SignedTransactionCall['raw'], chainId: bigint, place: string): Promise<Call> {
  try {
    return (await readSignedCall(raw, chainId)).call
  } catch (error) {
    throw new RpcError(ErrorCode.invalidParams, `${place}: ${(error as Error).message}`)
  }
}
