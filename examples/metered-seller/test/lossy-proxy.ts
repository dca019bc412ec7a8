import { once } from 'node:events'
import { createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface LossyProxy {
  url: string
  close(): void
}

/** Starts a proxy for billing that drops the answers for which `isLost` returns true. Billing has done the work then. */
export async function startLossyProxy(target: string, isLost: (path: string) => boolean): Promise<LossyProxy> {
  const server = createServer((request, response) => {
    const { method, url: path = '/', headers } = request
    const onward = forward(new URL(path, target), { method, headers })
    onward.on('response', (answer) => {
      if (isLost(path)) return answer.resume().on('end', () => response.destroy())
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      return answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    request.pipe(onward)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
