import type { Socket } from 'node:net'

/** A `POST /` with a JSON body, to be answered once. */
export interface FastRequest {
  /** The caller's `x-request-id`, not checked. */
  readonly requestId: string | undefined
  /** Good until it is answered. */
  readonly body: Buffer
  /** Closes when nobody waits for the answer any more. */
  readonly socket: Socket
  /**
   * @param headers without content-length, date and connection: name, value, name, value …
   * @param body in parts; none for an answer without a body
   * @param onSent called once the answer is written out, or can't be
   */
  respond(status: number, headers: readonly string[], body: readonly (string | Buffer)[], onSent?: () => void): void
}

/** Counts bytes that are held in memory. */
export interface MemoryShare {
  /** @throws where there is no room */
  take(bytes: number): void
  give(bytes: number): void
}

export interface FrontOptions {
  /** Requests with longer bodies are left to Node. 0 leaves all of them. */
  maxBodyBytes: number
  /** Requests with one of these headers are left to Node: names in lower case. */
  leave?: readonly string[]
  /** Milliseconds within which a body must have arrived after its head. */
  bodyTimeoutMs: number
  /** Resolves in a turn of the event loop in which no other long body is read on: thousands may arrive at once. */
  longBodyTurn(): Promise<void>
  /** Of a connection: counts requests that come in several pieces until they are answered. */
  memoryOf(socket: Socket): MemoryShare
  /** Answers a request, at once or later. Must not throw. */
  serve(request: FastRequest): void
  /** Answers at once a request for whose body `memoryOf` threw `error`; it is the connection's last. Must not throw. */
  refuse(error: unknown, request: Omit<FastRequest, 'body'>): void
}
