/** Sends one call to a node. @throws Error with the node's message */
export async function rpc<T>(
  rpcUrl: string,
  method: string,
  params: readonly unknown[],
  headers: Readonly<Record<string, string>> = {},
): Promise<T> {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await response.json()) as { result: T; error?: { message: string } }
  if (error) throw new Error(`${method}: ${error.message}`)
  return result
}
