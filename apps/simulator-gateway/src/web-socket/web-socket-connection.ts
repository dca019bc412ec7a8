import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import type { WebSocket } from '@fastify/websocket'
import type { MemoryShare } from '@upfront/fast-http'
import { type Dialect, ErrorCode, type JsonText, joinJson, RpcError } from '@upfront/protocol'
import { acceptedRequestId, type Logger } from '@upfront/service'
import { clientOf } from '../limits/client-of.js'
import type { Caller, FreeBudget } from '../limits/free-budget.js'
import { LONG_BODIES } from '../limits/long-bodies.js'
import { type Memory, SMALL_BYTES } from '../limits/memory.js'
import { ClientGone } from '../limits/refused.js'
import type { Tally } from '../limits/tally.js'
import { endUnlessRead, lengthOf } from '../requests/answer-sender.js'
import type { Budget } from '../requests/request.js'
import { failureBody, failureOf } from '../rpc/failure.js'
import type { RpcEndpoint } from '../rpc/rpc.endpoint.js'
import type { Notify, Subscriber } from '../subscriptions/subscriber.js'
import { MessageSender } from './message-sender.js'

/** Most messages waiting for their turn; beyond it, reading pauses. */
const MAX_WAITING = 16
const MAX_SUBSCRIPTIONS = 64
/** Over all connections of a client: each subscription is notified of each block. */
const MAX_SUBSCRIPTIONS_PER_CLIENT = 1_024
/** Bytes held per byte of a message that opens a subscription: part of it is kept as sets of addresses. */
const COPIES_KEPT = 2
/** Memory of a read besides its bytes: there may be a single one. */
const READ_BYTES = 256
/** Limit of unread notifications, including those that wait for the answer that opens their subscription. */
const MAX_UNREAD_BYTES = 1024 * 1024

const MAX_TIMER_MS = 2 ** 31 - 1

/** Close codes of RFC 6455. */
const GOING_AWAY = 1001
const UNSUPPORTED_DATA = 1003
const POLICY_VIOLATION = 1008
const TRY_AGAIN_LATER = 1013

export interface WebSocketClient {
  webSocket: WebSocket
  /** The socket below the WebSocket. */
  socket: Socket
  caller: Caller
  dialect: Dialect
}

export interface WebSocketServices {
  endpoint: RpcEndpoint
  /** Budget of each message. */
  budget: Budget
  free: FreeBudget
  memory: Memory
  logger: Logger
  answerTimeoutMs: number
  /** Waits for the state that the client requires for every message. @throws or rejects with the error to answer with */
  waits?: (() => Promise<unknown>) | undefined
  /** Subscriptions over all connections, by client. */
  subscriptions: Tally
}

interface Subscription {
  /** Upper bound of the memory that it keeps from its opening message. */
  bytes: number
  end?: () => void
}

/** A client's WebSocket connection. Its messages are answered one after another, like a client's queued `POST` requests. */
export class WebSocketConnection implements Subscriber {
  /** Memory of the client's messages, subscriptions and notifications. */
  readonly #share: MemoryShare
  /** Bytes of an incomplete message, plus at most one read. */
  #arriving = 0
  #lastRead = 0
  /** Reading is paused so that other connections have their turn. */
  #isLeavingTurn = false
  readonly #waiting: Buffer[] = []
  readonly #subscriptions = new Map<string, Subscription>()
  /** Length of the message being answered. */
  #messageBytes = 0
  /** Length of the answer being sent, until the client has read all of it. */
  #answerLength = 0
  readonly #sender: MessageSender
  #isBusy = false
  #isEnding = false
  #isClosed = false
  /** Payload of the last ping, until it is answered. */
  #pinged: Buffer | undefined
  readonly #client: WebSocketClient
  /** The client's key in limits. */
  readonly #name: string
  readonly #services: WebSocketServices

  constructor(client: WebSocketClient, services: WebSocketServices) {
    this.#client = client
    this.#services = services
    const { webSocket, socket, caller } = client
    this.#name = clientOf(caller)
    this.#share = services.memory.bodiesOf(this.#name)
    this.#sender = new MessageSender(webSocket, socket, this.#share, services.answerTimeoutMs)
    // Prepended, to run before the WebSocket's own listener.
    socket.prependListener('data', ({ length }: Buffer) => this.#onBytes(length))
    webSocket.on('message', (data, isBinary) => {
      this.#onMessageComplete()
      if (isBinary) webSocket.close(UNSUPPORTED_DATA, 'send JSON-RPC as text')
      else this.#receive(data as Buffer)
    })
    // Other pongs don't prove that the client reads.
    webSocket.on('pong', (data) => {
      if (this.#pinged?.equals(data)) this.#pinged = undefined
    })
    webSocket.once('close', () => this.#close())
  }

  get subscribed(): number {
    return this.#subscriptions.size
  }

  /** Closes the connection if the last ping was not answered. Sends none while messages are unread: it would queue behind them. */
  ping(): void {
    if (this.#sender.unread > 0) return
    if (this.#pinged !== undefined) {
      this.#client.webSocket.terminate()
      return
    }
    this.#pinged = randomBytes(8)
    this.#client.webSocket.ping(this.#pinged)
  }

  /** Closes the connection once received messages are answered, or after `withinMs`. */
  end(withinMs: number): void {
    this.#isEnding = true
    this.#unsubscribeAll()
    if (!this.#isBusy) this.#client.webSocket.close(GOING_AWAY, 'the gateway is stopping')
    const timer = setTimeout(() => this.#client.webSocket.terminate(), withinMs)
    this.#client.webSocket.once('close', () => clearTimeout(timer))
  }

  /** Closes the connection when its token expires. @param time seconds since 1970 */
  endAt(time: number): void {
    const end = () => {
      const left = time * 1_000 - Date.now()
      if (left <= 0) this.#closeWith('the token has expired', POLICY_VIOLATION)
      else timer = setTimeout(end, Math.min(left, MAX_TIMER_MS)).unref()
    }
    let timer: NodeJS.Timeout | undefined
    end()
    this.#client.webSocket.once('close', () => clearTimeout(timer))
  }

  async subscribe(
    begin: (notify: Notify, drop: (reason: string) => void) => Promise<() => void>,
    kept = 0,
  ): Promise<string> {
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS)
      throw new RpcError(ErrorCode.limitExceeded, `a connection may have at most ${MAX_SUBSCRIPTIONS} subscriptions`)
    const id = `0x${randomBytes(16).toString('hex')}`
    if (this.#services.subscriptions.of(this.#name) >= MAX_SUBSCRIPTIONS_PER_CLIENT)
      throw new RpcError(
        ErrorCode.limitExceeded,
        `a client may have at most ${MAX_SUBSCRIPTIONS_PER_CLIENT} subscriptions`,
      )
    const subscription: Subscription = { bytes: COPIES_KEPT * Math.max(kept, this.#messageBytes) }
    this.#share.take(subscription.bytes)
    this.#subscriptions.set(id, subscription)
    this.#services.subscriptions.add(this.#name)
    // Notifications wait until the answer with the subscription's ID is sent.
    this.#sender.hold()
    try {
      subscription.end = await begin(
        (...results) => this.#notifyAll(id, results),
        (reason) => this.#closeWith(reason),
      )
    } catch (error) {
      this.unsubscribe(id)
      throw error
    }
    // The client has left, or the gateway is stopping.
    if (!this.#subscriptions.has(id)) subscription.end()
    return id
  }

  unsubscribe(id: string): boolean {
    const subscription = this.#subscriptions.get(id)
    if (subscription === undefined) return false
    this.#subscriptions.delete(id)
    this.#services.subscriptions.add(this.#name, -1)
    this.#share.give(subscription.bytes)
    subscription.end?.()
    return true
  }

  #onBytes(bytes: number): void {
    this.#lastRead = READ_BYTES + bytes
    if (this.#isClosed) return
    try {
      this.#share.take(this.#lastRead)
      this.#arriving += this.#lastRead
      if (this.#arriving > SMALL_BYTES) void this.#yieldTurn()
    } catch {
      this.#client.webSocket.terminate()
    }
  }

  async #yieldTurn(): Promise<void> {
    if (this.#isLeavingTurn) return
    this.#isLeavingTurn = true
    this.#updateFlow()
    await LONG_BODIES.next()
    this.#isLeavingTurn = false
    this.#updateFlow()
  }

  #updateFlow(): void {
    const { webSocket } = this.#client
    if (this.#isLeavingTurn || this.#waiting.length >= MAX_WAITING) webSocket.pause()
    else if (webSocket.isPaused) webSocket.resume()
  }

  /** A message is complete: at most the last read still belongs to an incomplete one. */
  #onMessageComplete(): void {
    const left = Math.min(this.#arriving, this.#lastRead)
    this.#share.give(this.#arriving - left)
    this.#arriving = left
  }

  #receive(body: Buffer): void {
    if (this.#isEnding) return
    try {
      this.#share.take(body.length)
    } catch {
      this.#client.webSocket.close(TRY_AGAIN_LATER, 'not enough free memory; try again later')
      return
    }
    this.#waiting.push(body)
    this.#updateFlow()
    if (!this.#isBusy) void this.#answerAll()
  }

  async #answerAll(): Promise<void> {
    this.#isBusy = true
    for (let body = this.#waiting.shift(); body !== undefined; body = this.#waiting.shift()) {
      this.#updateFlow()
      await this.#answer(body)
      this.#share.give(body.length)
    }
    this.#isBusy = false
    if (this.#isEnding) this.#client.webSocket.close(GOING_AWAY, 'the gateway is stopping')
  }

  async call(method: string, params: string): Promise<string | undefined> {
    let text: string | undefined
    await this.#serve(`{"jsonrpc":"2.0","id":null,"method":"${method}","params":${params}}`, (answer) => {
      text = joinJson(answer).toString()
    })
    return text
  }

  async #answer(body: Buffer): Promise<void> {
    this.#messageBytes = body.length
    let answer: readonly JsonText[] = []
    await this.#serve(
      body,
      (made) => {
        answer = made
      },
      this,
    )
    this.#answerLength = lengthOf(answer)
    try {
      this.#sender.release(answer)
    } catch {
      this.#closeWith('not enough free memory; try again later')
    }
    await this.#sender.whenRead()
    this.#answerLength = 0
  }

  async #serve(
    body: string | Buffer,
    send: (answer: readonly JsonText[]) => void,
    subscriber?: Subscriber,
  ): Promise<void> {
    const { socket, caller, dialect } = this.#client
    const { endpoint, budget, free, logger, waits } = this.#services
    const id = acceptedRequestId(undefined)
    try {
      await free.take(caller)
      await waits?.()
      const request = { id, caller, dialect, connection: socket, length: body.length, budget, subscriber }
      await endpoint.serve(request, body, ({ body: parts = [] }) => {
        // Short answers go out in one frame.
        if (parts.length > 0) send(lengthOf(parts) > SMALL_BYTES ? parts : [joinJson(parts)])
      })
    } catch (thrown) {
      if (thrown instanceof ClientGone) return
      if (!(thrown instanceof RpcError)) logger.error({ requestId: id, err: thrown }, 'internal error')
      send([failureBody(null, failureOf(thrown))])
    }
  }

  /** Sends all of them in one write. */
  #notifyAll(id: string, results: readonly string[]): void {
    if (!this.#subscriptions.has(id) || this.#isEnding) return
    const head = `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${id}","result":`
    const notifications = results.map((result) => `${head}${result}}}`)
    const { free } = this.#services
    const { caller, socket } = this.#client
    const length = lengthOf(notifications)
    if (this.#sender.unread - this.#answerLength + length > MAX_UNREAD_BYTES)
      this.#closeWith('the client does not read its notifications')
    else if (free.isSpent(caller)) this.#closeWith('the free budget of this minute is used up')
    else {
      free.spend(caller, { bytes: length })
      socket.cork()
      try {
        for (const notification of notifications) this.#sender.send([notification])
      } catch {
        this.#closeWith('not enough free memory; try again later')
      }
      socket.uncork()
    }
  }

  /** Closes the connection of a client that takes too much, with the reason. */
  #closeWith(reason: string, code = TRY_AGAIN_LATER): void {
    this.#unsubscribeAll()
    this.#isEnding = true
    this.#client.webSocket.close(code, reason)
    endUnlessRead(this.#client.socket, this.#services.answerTimeoutMs)
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
