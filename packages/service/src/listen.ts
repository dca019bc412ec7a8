import type { AddressInfo } from 'node:net'
import type { NestFastifyApplication } from '@nestjs/platform-fastify'

export interface ListenOptions {
  port: number
  host: string
  /** The environment variables that set host and port, named in errors. */
  variables: { port: string; host: string }
}

/**
 * Connections that may wait to be accepted; the system may cap it. With Node's 511, a client that opens a thousand connections at once
 * delays others by seconds: TCP retries after one second and again after three.
 */
const BACKLOG = 4_096

/**
 * Starts a Nest application and listens.
 * @returns its URL, with the actual port if 0 was requested
 * @throws whatever a lifecycle hook throws, or an Error that names the variable to change if the address can't be used; the application is
 * closed first
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
    return new Error(`${host} is not an address of this machine: set ${variables.host} to another`)
  }
  return error
}
