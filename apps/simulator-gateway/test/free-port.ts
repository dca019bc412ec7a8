import { once } from 'node:events'
import { createServer } from 'node:net'

/** A port that is free right now, for processes that can't listen on port 0. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
