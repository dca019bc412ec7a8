import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export type Fault =
  /** Answer late, by this many milliseconds. */
  | { kind: 'pause'; milliseconds: number }
  | { kind: '429' }
  /** Hand the request on, then cut the connection instead of answering. */
  | { kind: 'drop after' }
  /** Cut the connection before the request is handed on. */
  | { kind: 'drop before' }

interface RpcCall {
  method: string
  params: unknown[]
}

export interface FaultyNode {
  url: string
  /** Where requests are handed on to. */
  target: string
  /** Raw transactions handed on, in order. */
  sent: string[]
  /** Decides, per call, what goes wrong; `null`: nothing. */
  choose: (method: string) => Fault | null
  stop(): Promise<void>
}

/** A proxy before a node that fails as real ones do. */
export async function startFaultyNode(rpcUrl: string): Promise<FaultyNode> {
  const server = createServer(async (request, response) => {
    try {
      const body = await read(request)
      const message = JSON.parse(body) as RpcCall | RpcCall[]
      const calls = Array.isArray(message) ? message : [message]
      const fault = calls.map(({ method }) => node.choose(method)).find((chosen) => chosen !== null)
      if (fault?.kind === 'drop before') return void request.socket.destroy()
      if (fault?.kind === '429') {
        response.writeHead(429, { 'retry-after': '3600' }).end('slow down')
        return
      }
      if (fault?.kind === 'pause') await sleep(fault.milliseconds)
      for (const { method, params } of calls) if (method === 'eth_sendRawTransaction') node.sent.push(String(params[0]))
      const answer = await fetch(node.target, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      const text = await answer.text()
      if (fault?.kind === 'drop after') return void request.socket.destroy()
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text)
    } catch {
      // The chain is being stopped, or the client was killed.
      request.socket.destroy()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const node: FaultyNode = {
    url: `http://127.0.0.1:${port}`,
    target: rpcUrl,
    sent: [],
    choose: () => null,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return node
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
