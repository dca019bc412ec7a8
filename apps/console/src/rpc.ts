/** A JSON-RPC error: its message and code. */
export class RpcFault extends Error {
  constructor(
    message: string,
    readonly code: number,
  ) {
    super(message)
  }
}

/** A result, with the gateway's `upfront-state` header. */
export interface RpcReply<T> {
  result: T
  state: string | undefined
}

/** Calls the gateway that serves this page, in geth's dialect. @throws RpcFault, or Error without a response */
export async function call<T>(method: string, params: unknown[], signal?: AbortSignal): Promise<RpcReply<T>> {
  const response = await fetch('/ethereum', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    ...(signal && { signal }),
  })
  const { result, error } = (await response.json()) as { result?: T; error?: { code: number; message: string } }
  if (error !== undefined) throw new RpcFault(error.message, error.code)
  return { result: result as T, state: response.headers.get('upfront-state') ?? undefined }
}

/** The URL of the page's WebSocket. */
export function webSocketUrl({ protocol, host }: Location): string {
  return `${protocol === 'https:' ? 'wss:' : 'ws:'}//${host}/ethereum`
}
