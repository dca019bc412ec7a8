import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface CappedNode {
  url: string
  /** The block that `latest` and `pending` are; none: the node's own. */
  cap: bigint | undefined
  /** Milliseconds before each answer. */
  delayMs: number
  stop(): Promise<void>
}

interface Call {
  id: unknown
  method: string
  params?: unknown[]
}

/** A proxy before a node that shows its chain only up to a block. */
export async function startCappedNode(rpcUrl: string): Promise<CappedNode> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[]
    const calls = Array.isArray(body) ? body : [body]
    const answers = await forward(rpcUrl, calls.map(capped))
    await new Promise((resolve) => setTimeout(resolve, node.delayMs))
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(Array.isArray(body) ? answers : answers[0]))
  })
  const node: CappedNode = {
    url: '',
    cap: undefined,
    delayMs: 0,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  const capped = (call: Call): Call => {
    if (node.cap === undefined) return call
    const number = `0x${node.cap.toString(16)}`
    if (call.method === 'eth_blockNumber') return { ...call, method: 'eth_getBlockByNumber', params: [number, false] }
    const params = (call.params ?? []).map((param) => (param === 'latest' || param === 'pending' ? number : param))
    return { ...call, params }
  }
  const forward = async (url: string, calls: Call[]) => {
    const asked = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(calls.map((call) => ({ jsonrpc: '2.0', ...call }))),
    })
    return (await asked.json()) as unknown[]
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  node.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return node
}
