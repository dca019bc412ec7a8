import type { AddressInfo } from 'node:net'
import type { NestFastifyApplication } from '@nestjs/platform-fastify'

export interface ListenOptions {
  port: number
  host: string
  /** The environment variables that set them, for errors to name. */
  variables: { port: string; host: string }
}

/**
 * Connections that wait to be accepted; the system may have a lower limit. With Node's 511, a client that opens a thousand at once makes
 * others' wait for seconds: TCP tries again after one second and after three.
 */
const BACKLOG = 4_096

/**
 * Starts a Nest application's lifecycle and listens. Answers its URL, with the real port where 0 was asked for.
 * @throws what a lifecycle hook throws, or an Error that names the variable where the address is not free; the application
 * is closed then
 */
export async function listen(app: NestFastifyApplication, options: ListenOptions): Promise<string> {
  try {
    await app.listen({ port: options.port, host: options.host, backlog: BACKLOG })
  } catch (error) {
    await app.close()
    throw describeListenError(error, options)
  }
  const { port } = app.getHttpServer().address() as AddressInfo
  return `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`
}

function describeListenError(error: unknown, { port, host, variables }: ListenOptions): unknown {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown }
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return error
  if (code === 'EADDRINUSE') return new Error(`port ${port} on ${host} is in use: set ${variables.port} to another`)
  if (code === 'EACCES') {
    return new Error(`port ${port} may not be opened by this user: set ${variables.port} to another`)
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new Error(`${host} is no address of this machine: set ${variables.host} to another`)
  }
  return error
}
