import type { Socket } from 'node:net'
import type { WebSocket } from '@fastify/websocket'
import { type MemoryShare, writeInSlices } from '@upfront/fast-http'
import type { JsonText } from '@upfront/protocol'
import { endUnlessRead, lengthOf } from '../requests/answer-sender.js'

/** JSON in parts. */
type Message = readonly JsonText[]

/**
 * Sends messages over one WebSocket, in order, as fast as the client reads them. Unread messages count towards the client's memory, and a
 * message that is not read within `timeoutMs` closes the connection.
 */
export class MessageSender {
  #unread = 0
  readonly #queue: Message[] = []
  #isSending = false
  #isHeld = false
  #isClosed = false
  readonly #waiting: (() => void)[] = []

  readonly #webSocket: WebSocket
  readonly #socket: Socket
  readonly #memory: MemoryShare
  readonly #timeoutMs: number

  /** @param socket the socket below the WebSocket */
  constructor(webSocket: WebSocket, socket: Socket, memory: MemoryShare, timeoutMs: number) {
    this.#webSocket = webSocket
    this.#socket = socket
    this.#memory = memory
    this.#timeoutMs = timeoutMs
    webSocket.once('close', () => {
      this.#isClosed = true
      this.#queue.length = 0
      this.#memory.give(this.#unread)
      this.#unread = 0
      this.#resolveWaiting()
    })
  }

  /** Length of messages that the client has not read, in characters and bytes. */
  get unread(): number {
    return this.#unread
  }

  /** @throws Overloaded if the client has no memory left for it */
  send(message: Message): void {
    if (this.#isClosed) return
    this.#count(message)
    this.#queue.push(message)
    if (!this.#isSending) this.#sendNext()
  }

  /** Holds back messages until `release`. */
  hold(): void {
    this.#isHeld = true
  }

  /** Ends `hold`: sends `first`, if it is not empty, then the messages held back. @throws like `send` */
  release(first: Message): void {
    this.#isHeld = false
    if (first.length > 0 && !this.#isClosed) {
      this.#count(first)
      this.#queue.unshift(first)
    }
    if (!this.#isSending) this.#sendNext()
  }

  /** Resolves once the client has read everything or is gone; undefined if nothing is unread. */
  whenRead(): Promise<void> | undefined {
    if (!this.#isSending) return undefined
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #count(message: Message): void {
    const length = lengthOf(message)
    this.#memory.take(length)
    this.#unread += length
  }

  #uncount(message: Message): void {
    if (this.#isClosed) return
    const length = lengthOf(message)
    this.#memory.give(length)
    this.#unread -= length
  }

  #sendNext(): void {
    this.#isSending = true
    // Otherwise each message that waited is a write of its own: seconds of the event loop for thousands of them.
    this.#socket.cork()
    const isAllSent = this.#sendWhileRead()
    this.#socket.uncork()
    if (!isAllSent) return
    this.#isSending = false
    this.#resolveWaiting()
  }

  /** Returns false if the client has to read first. */
  #sendWhileRead(): boolean {
    while (!this.#isHeld) {
      const message = this.#queue.shift()
      if (message === undefined) break
      if (!this.#trySend(message)) return false
    }
    return true
  }

  /** Returns false if the client has to read first; sending then continues on its own. */
  #trySend(message: Message): boolean {
    const socket = this.#socket
    let isDone = false
    let read: (() => void) | undefined
    writeInSlices(
      socket,
      message,
      (slice, isLast) => this.#webSocket.send(slice, { binary: false, fin: isLast }),
      () => {
        isDone = true
        this.#uncount(message)
        if (read === undefined) return
        read()
        this.#sendNext()
      },
    )
    if (!isDone) read = endUnlessRead(socket, this.#timeoutMs)
    return isDone
  }

  #resolveWaiting(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }
}
