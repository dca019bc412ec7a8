import { createServer } from 'node:http'
import { Pool, request } from 'undici'

/** A proxy that makes a node as far away as real ones are, and keeps what was asked. */
export interface LatencyProxy {
  url: string
  /** The JSON-RPC methods of each HTTP request since the last `reset`, in order of arrival. */
  requests: string[][]
  reset(): void
  stop(): Promise<void>
}

/** Delays each answer by `milliseconds`: one round trip. */
export async function startLatencyProxy(upstream: string, milliseconds: number): Promise<LatencyProxy> {
  const pool = new Pool(upstream, { connections: 64 })
  const requests: string[][] = []
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    requests.push([JSON.parse(body.toString())].flat().map((call: { method: string }) => call.method))
    const [answer] = await Promise.all([
      request(upstream, {
        dispatcher: pool,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      }).then(async (response) => Buffer.from(await response.body.arrayBuffer())),
      new Promise((resolve) => setTimeout(resolve, milliseconds)),
    ])
    outgoing.setHeader('content-type', 'application/json').end(answer)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    reset: () => void requests.splice(0),
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await pool.close()
    },
  }
}
