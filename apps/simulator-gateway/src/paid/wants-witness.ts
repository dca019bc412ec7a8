import { ErrorCode, RpcError } from '@upfront/protocol'

/**
 * The `witness` query parameter: `1`, or `0` as without it.
 * @throws RpcError -32600 (HTTP 400)
 */
export function wantsWitness(query: unknown): boolean {
  const { witness } = query as { witness?: unknown }
  if (witness === undefined || witness === '0') return false
  if (witness === '1') return true
  throw new RpcError(ErrorCode.invalidRequest, 'witness: expected 0 or 1', undefined, 400)
}
