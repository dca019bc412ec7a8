import type { Socket } from 'node:net'

/** A `POST /` with a JSON body. It must be answered once. */
export interface FastRequest {
  /** The caller's `x-request-id`, unchecked. */
  readonly requestId: string | undefined
  /** Valid until the request is answered. */
  readonly body: Buffer
  /** Closed once the client no longer waits for the answer. */
  readonly socket: Socket
  /**
   * @param headers name, value, name, value …; without content-length, date and connection
   * @param body in parts; empty for an answer without a body
   * @param onSent called once the answer is written out, or can't be
   */
  respond(status: number, headers: readonly string[], body: readonly (string | Buffer)[], onSent?: () => void): void
}

/** Counts bytes that are held in memory. */
export interface MemoryShare {
  /** @throws if there is no room for them */
  take(bytes: number): void
  give(bytes: number): void
}

export interface FrontOptions {
  /** Requests with longer bodies are left to Node; 0 leaves all of them to Node. */
  maxBodyBytes: number
  /** Requests with one of these headers are left to Node. Names in lower case. */
  leave?: readonly string[]
  /** Milliseconds from the head of a request until its body must have arrived. */
  bodyTimeoutMs: number
  /** Resolves in a turn of the event loop that no other long body uses: thousands may arrive at once. */
  longBodyTurn(): Promise<void>
  /** Memory account of a connection: counts requests that arrive in several pieces until they are answered. */
  memoryOf(socket: Socket): MemoryShare
  /** Answers a request, at once or later. Must not throw. */
  serve(request: FastRequest): void
  /**
   * Answers, synchronously, a request whose body finds no memory: `memoryOf`, or `take` of its share, threw `error`. The connection then
   * serves the next request once the rest of the body has arrived, and closes if that takes over a second. Must not throw.
   */
  refuse(error: unknown, request: Omit<FastRequest, 'body'>): void
}
