import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

export interface Reply {
  /** From sending to the last byte of the response. */
  milliseconds: number
  /** Unix time in milliseconds, with microsecond precision. */
  answeredAt: number
  /** Status line and header fields. */
  head: string
  body: string
}

interface Asked {
  url: string
  bodies: readonly string[]
  /** Requests per second, answered or not. Absent: each is sent once the previous one is answered. */
  rate?: number | undefined
}

/**
 * Posts the bodies from a separate thread over keep-alive sockets, so that the client itself adds
 * as little as possible to the measured latency.
 * @throws Error if a connection fails, or a response has no length
 */
export async function post(asked: Asked): Promise<Reply[]> {
  const worker = new Worker(new URL(import.meta.url), { workerData: asked })
  const [replies] = (await once(worker, 'message')) as [Reply[]]
  return replies
}

/** One connection, for sequential requests. Errors end the thread and the run. */
class Connection {
  readonly #socket: Socket
  #received = ''
  #sentAt = 0
  #answered: ((reply: Reply) => void) | undefined

  constructor({ hostname, port }: URL) {
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true }).setEncoding('latin1')
    this.#socket.on('data', (text: string) => this.#take(text))
    this.#socket.on('end', () => {
      // Servers close connections that were idle for long.
      if (this.#answered !== undefined) throw new Error('the connection was closed before the answer came')
    })
  }

  get isOpen(): boolean {
    return this.#socket.writable
  }

  send(request: string): Promise<Reply> {
    return new Promise((resolve) => {
      this.#answered = resolve
      this.#received = ''
      this.#sentAt = performance.now()
      this.#socket.write(request)
    })
  }

  end(): void {
    this.#socket.destroy()
  }

  #take(text: string): void {
    const now = performance.now()
    this.#received += text
    const end = this.#received.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = this.#received.slice(0, end)
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    if (length === undefined) throw new Error(`an answer of unknown length: ${head}`)
    const body = this.#received.slice(end + 4)
    if (body.length < Number(length)) return
    const answeredAt = performance.timeOrigin + now
    this.#answered?.({ milliseconds: now - this.#sentAt, answeredAt, head, body })
    this.#answered = undefined
  }
}

async function postAll({ url, bodies, rate }: Asked): Promise<Reply[]> {
  const to = new URL(url)
  const free: Connection[] = []
  const ask = async (body: string): Promise<Reply> => {
    let connection = free.pop()
    while (connection !== undefined && !connection.isOpen) connection = free.pop()
    connection ??= new Connection(to)
    const length = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`
    const reply = await connection.send(`POST / HTTP/1.1\r\nhost: ${to.host}\r\n${length}\r\n\r\n${body}`)
    free.push(connection)
    return reply
  }
  const replies: Reply[] = []
  if (rate === undefined) for (const body of bodies) replies.push(await ask(body))
  else {
    const began = performance.now()
    const asked: Promise<Reply>[] = []
    for (const body of bodies) {
      const left = began + (1_000 * asked.length) / rate - performance.now()
      if (left > 0) await new Promise((resolve) => setTimeout(resolve, left))
      asked.push(ask(body))
    }
    replies.push(...(await Promise.all(asked)))
  }
  for (const connection of free) connection.end()
  return replies
}

if (!isMainThread) parentPort?.postMessage(await postAll(workerData))
