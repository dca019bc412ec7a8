/** An answer that is an error: its message, and what the node said with it. */
export class RpcFault extends Error {
  constructor(
    message: string,
    readonly code: number,
  ) {
    super(message)
  }
}

/** What the gateway said of the state that it answered on: its `upfront-state` header. */
export interface RpcReply<T> {
  result: T
  state: string | undefined
}

/** One call at the gateway that serves this page, in geth's shapes. @throws RpcFault, or Error where no answer comes */
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

/** Where the page's WebSocket is. */
export function webSocketUrl({ protocol, host }: Location): string {
  return `${protocol === 'https:' ? 'wss:' : 'ws:'}//${host}/ethereum`
}
