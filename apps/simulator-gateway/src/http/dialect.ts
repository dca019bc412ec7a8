import { DIALECTS, type Dialect, ErrorCode, RpcError } from '@upfront/protocol'

/** Where everything is in geth's shapes, whatever `DIALECT` says: for clients that decode answers by type. */
export const ETHEREUM_PATH = 'ethereum'

/**
 * `ethereum` under `/ethereum`; else the `dialect` query parameter, or `fallback` where there is none.
 * @throws RpcError -32600 (HTTP 400)
 */
export function dialectOf({ url, query }: { url: string; query: unknown }, fallback: Dialect): Dialect {
  const [path = ''] = url.split('?')
  if (path.split('/')[1] === ETHEREUM_PATH) return 'ethereum'
  const named = (query as { dialect?: unknown }).dialect
  if (named === undefined) return fallback
  const dialect = DIALECTS.find((known) => known === named)
  if (dialect === undefined) {
    throw new RpcError(ErrorCode.invalidRequest, `dialect: expected one of ${DIALECTS.join(', ')}`, undefined, 400)
  }
  return dialect
}
