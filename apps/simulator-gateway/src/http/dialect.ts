import { DIALECTS, type Dialect, ErrorCode, RpcError } from '@upfront/protocol'

/**
 * The `dialect` query parameter, or `fallback` where there is none.
 * @throws RpcError -32600 (HTTP 400)
 */
export function dialectOf(query: unknown, fallback: Dialect): Dialect {
  const named = (query as { dialect?: unknown }).dialect
  if (named === undefined) return fallback
  const dialect = DIALECTS.find((known) => known === named)
  if (dialect === undefined) {
    throw new RpcError(ErrorCode.invalidRequest, `dialect: expected one of ${DIALECTS.join(', ')}`, undefined, 400)
  }
  return dialect
}
