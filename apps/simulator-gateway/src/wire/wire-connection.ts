import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import type { WebSocket } from '@fastify/websocket'
import type { MemoryShare } from '@upfront/fast-http'
import { type Dialect, ErrorCode, type JsonText, joinJson, RpcError } from '@upfront/protocol'
import { acceptedRequestId, type Logger } from '@upfront/service'
import { endUnlessRead } from '../http/unread-answers.js'
import type { Caller } from '../limits/caller.js'
import { ClientGone } from '../limits/client-gone.js'
import { clientOf } from '../limits/client-of.js'
import type { FreeBudget } from '../limits/free-budget.js'
import type { Memory } from '../limits/memory.js'
import { failureBody, failureOf } from '../rpc/failure.js'
import type { RpcEndpoint } from '../rpc/rpc.endpoint.js'
import type { Subscriber } from '../subscriptions/subscriber.js'

/** Messages that wait for their turn before no more are read. */
const MOST_WAITING = 16
const MOST_SUBSCRIPTIONS = 64
/** Of all connections of a client: each is told of each block. */
const MOST_SUBSCRIPTIONS_OF_A_CLIENT = 1_024
/** Of the message that opens a subscription, of whose length a part is kept as sets of addresses. */
const COPIES_KEPT = 2
/** Notifications that wait for the answer which opens their subscription. */
const MOST_HELD = 2_000
/** Of notifications that a client has not read. */
const MOST_UNREAD_BYTES = 1024 * 1024

/** Close codes of RFC 6455. */
const GOING_AWAY = 1001
const UNSUPPORTED_DATA = 1003
const TRY_AGAIN_LATER = 1013

export interface WireClient {
  webSocket: WebSocket
  /** What the WebSocket stands on. */
  socket: Socket
  caller: Caller
  dialect: Dialect
}

export interface WireServices {
  endpoint: RpcEndpoint
  free: FreeBudget
  memory: Memory
  logger: Logger
  answerTimeoutMs: number
  /** Of all connections of this client. */
  subscriptions: () => number
}

interface Subscription {
  /** What it keeps of the message that opened it, at most. */
  bytes: number
  end?: () => void
}

/** One client's WebSocket. Its messages are answered one after another, as a client's requests by `POST` wait behind each other. */
export class WireConnection implements Subscriber {
  /** What the client's messages, subscriptions and notifications take. */
  readonly #share: MemoryShare
  /** Bytes of a message that is not here as a whole yet, and at most of one read more. */
  #arriving = 0
  #lastRead = 0
  readonly #waiting: string[] = []
  readonly #subscriptions = new Map<string, Subscription>()
  /** Length of the message that is being answered. */
  #messageBytes = 0
  /** Notifications wait until the answer that opens their subscription is sent. */
  #held: string[] | undefined
  #isBusy = false
  #isEnding = false
  #isClosed = false
  #answersPing = true
  readonly #client: WireClient
  readonly #services: WireServices

  constructor(client: WireClient, services: WireServices) {
    this.#client = client
    this.#services = services
    const { webSocket, socket, caller } = client
    this.#share = services.memory.bodiesOf(clientOf(caller))
    // Before the WebSocket takes them.
    socket.prependListener('data', ({ length }: Buffer) => this.#arrive(length))
    webSocket.on('message', (data, isBinary) => {
      this.#arrived()
      if (isBinary) webSocket.close(UNSUPPORTED_DATA, 'send JSON-RPC as text')
      else this.#receive(data.toString())
    })
    webSocket.on('pong', () => {
      this.#answersPing = true
    })
    webSocket.once('close', () => this.#close())
  }

  /** Of the client. */
  get name(): string {
    return clientOf(this.#client.caller)
  }

  get subscribed(): number {
    return this.#subscriptions.size
  }

  /** Drops the connection where the last ping was not answered. */
  ping(): void {
    if (!this.#answersPing) {
      this.#client.webSocket.terminate()
      return
    }
    this.#answersPing = false
    this.#client.webSocket.ping()
  }

  /** Ends it once what has arrived is answered, or after `withinMs`. */
  end(withinMs: number): void {
    this.#isEnding = true
    this.#unsubscribeAll()
    if (!this.#isBusy) this.#client.webSocket.close(GOING_AWAY, 'the gateway is stopping')
    const timer = setTimeout(() => this.#client.webSocket.terminate(), withinMs)
    this.#client.webSocket.once('close', () => clearTimeout(timer))
  }

  async subscribe(begin: (notify: (result: string) => void) => Promise<() => void>): Promise<string> {
    if (this.#subscriptions.size >= MOST_SUBSCRIPTIONS)
      throw new RpcError(ErrorCode.limitExceeded, `a connection may have ${MOST_SUBSCRIPTIONS} subscriptions`)
    const id = `0x${randomBytes(16).toString('hex')}`
    if (this.#services.subscriptions() >= MOST_SUBSCRIPTIONS_OF_A_CLIENT)
      throw new RpcError(ErrorCode.limitExceeded, `a client may have ${MOST_SUBSCRIPTIONS_OF_A_CLIENT} subscriptions`)
    const subscription: Subscription = { bytes: COPIES_KEPT * this.#messageBytes }
    this.#share.take(subscription.bytes)
    this.#subscriptions.set(id, subscription)
    this.#held ??= []
    try {
      subscription.end = await begin((result) => this.#notify(id, result))
    } catch (error) {
      this.unsubscribe(id)
      throw error
    }
    // The client left, or the gateway began to stop, meanwhile.
    if (!this.#subscriptions.has(id)) subscription.end()
    return id
  }

  unsubscribe(id: string): boolean {
    const subscription = this.#subscriptions.get(id)
    if (subscription === undefined) return false
    this.#subscriptions.delete(id)
    this.#share.give(subscription.bytes)
    subscription.end?.()
    return true
  }

  #arrive(bytes: number): void {
    this.#lastRead = bytes
    if (this.#isClosed) return
    try {
      this.#share.take(bytes)
      this.#arriving += bytes
    } catch {
      this.#client.webSocket.terminate()
    }
  }

  /** A message is here: what may still be on its way is the rest of what was read last. */
  #arrived(): void {
    const left = Math.min(this.#arriving, this.#lastRead)
    this.#share.give(this.#arriving - left)
    this.#arriving = left
  }

  #receive(body: string): void {
    if (this.#isEnding) return
    try {
      this.#share.take(body.length)
    } catch {
      this.#client.webSocket.close(TRY_AGAIN_LATER, 'too little memory is free')
      return
    }
    this.#waiting.push(body)
    if (this.#waiting.length >= MOST_WAITING) this.#client.webSocket.pause()
    if (!this.#isBusy) void this.#answerAll()
  }

  async #answerAll(): Promise<void> {
    this.#isBusy = true
    for (let body = this.#waiting.shift(); body !== undefined; body = this.#waiting.shift()) {
      if (this.#client.webSocket.isPaused) this.#client.webSocket.resume()
      await this.#answer(body)
      this.#share.give(body.length)
    }
    this.#isBusy = false
    if (this.#isEnding) this.#client.webSocket.close(GOING_AWAY, 'the gateway is stopping')
  }

  async call(method: string, params: string): Promise<string | undefined> {
    let text: string | undefined
    await this.#serve(`{"jsonrpc":"2.0","id":null,"method":"${method}","params":${params}}`, (answer) => {
      text = answer.toString()
    })
    return text
  }

  async #answer(body: string): Promise<void> {
    this.#messageBytes = body.length
    await this.#serve(body, (answer) => this.#send(answer), this)
    const held = this.#held ?? []
    this.#held = undefined
    for (const notification of held) this.#push(notification)
  }

  async #serve(body: string, send: (answer: JsonText) => void, subscriber?: Subscriber): Promise<void> {
    const { socket, caller, dialect } = this.#client
    const { endpoint, free, logger } = this.#services
    const id = acceptedRequestId(undefined)
    try {
      await free.take(caller)
      await endpoint.serve(
        { id, caller, dialect, body, ...(subscriber && { subscriber }) },
        socket,
        ({ body: parts = [] }) => {
          if (parts.length > 0) send(joinJson(parts))
        },
      )
    } catch (thrown) {
      if (thrown instanceof ClientGone) return
      if (!(thrown instanceof RpcError)) logger.error({ requestId: id, err: thrown }, 'internal error')
      send(failureBody(null, failureOf(thrown)))
    }
  }

  #notify(id: string, result: string): void {
    if (!this.#subscriptions.has(id)) return
    const notification = `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${id}","result":${result}}}`
    if (this.#held === undefined) this.#push(notification)
    else if (this.#held.length < MOST_HELD) this.#held.push(notification)
    else this.#drop('notifications are not read')
  }

  #push(notification: string): void {
    if (this.#isEnding) return
    const { webSocket, caller } = this.#client
    const { length } = notification
    const refusal = this.#refusalOf(length)
    if (refusal !== undefined) {
      this.#drop(refusal)
      return
    }
    this.#services.free.spend(caller, { bytes: length })
    webSocket.send(notification, () => this.#share.give(length))
  }

  /** Takes memory for a notification, or says why it is not sent. */
  #refusalOf(length: number): string | undefined {
    const { webSocket, caller } = this.#client
    if (webSocket.bufferedAmount > MOST_UNREAD_BYTES) return 'notifications are not read'
    if (this.#services.free.isSpent(caller)) return 'the budget of this minute is spent'
    try {
      this.#share.take(length)
      return undefined
    } catch {
      return 'too little memory is free'
    }
  }

  /** Ends the connection of a client that takes too much by what it has subscribed to, and says so. */
  #drop(reason: string): void {
    this.#unsubscribeAll()
    this.#isEnding = true
    this.#client.webSocket.close(TRY_AGAIN_LATER, reason)
    endUnlessRead(this.#client.socket, this.#services.answerTimeoutMs)
  }

  #send(text: JsonText): void {
    const { webSocket, socket } = this.#client
    const { memory, answerTimeoutMs } = this.#services
    let give: (() => void) | undefined
    try {
      give = memory.hold(text.length)
    } catch {
      webSocket.close(TRY_AGAIN_LATER, 'too little memory is free')
      return
    }
    if (give === undefined) {
      webSocket.send(text, { binary: false })
      return
    }
    const read = endUnlessRead(socket, answerTimeoutMs)
    webSocket.send(text, { binary: false }, () => {
      read()
      give()
    })
  }

  #unsubscribeAll(): void {
    for (const id of this.#subscriptions.keys()) this.unsubscribe(id)
  }

  #close(): void {
    this.#isEnding = true
    this.#isClosed = true
    this.#unsubscribeAll()
    for (const body of this.#waiting.splice(0)) this.#share.give(body.length)
    this.#share.give(this.#arriving)
    this.#arriving = 0
  }
}
