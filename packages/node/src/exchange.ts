import type { ResponseTaker } from './plain-response.js'
import { UpstreamFault } from './upstream-fault.js'

const LEADING_WHITESPACE_LIMIT = 65_536

/** One request, and who waits for its response. */
export interface Exchange extends ResponseTaker {
  readonly body: string
  /** The exchange is under way; `giveUp` ends it, without a further word. */
  begun(giveUp: () => void): void
  done(): void
  failed(error: Error): void
}

interface Response {
  status: number
  retryAfter: string | undefined
  text: string
}

/** One request and its response, read up to a bound. */
export class BoundedExchange implements Exchange {
  readonly body: string
  readonly response: Promise<Response>
  readonly #resolve: (response: Response) => void
  readonly #reject: (reason: unknown) => void
  readonly #maxBytes: number
  #hasEnded = false
  #giveUp: () => void = () => undefined
  #status = 0
  #retryAfter: string | undefined
  readonly #chunks: Buffer[] = []
  #length = 0
  #blank = true

  constructor(body: string, maxBytes: number) {
    this.body = body
    this.#maxBytes = maxBytes
    let settle: [(response: Response) => void, (reason: unknown) => void] | undefined
    this.response = new Promise((resolve, reject) => {
      settle = [resolve, reject]
    })
    ;[this.#resolve, this.#reject] = settle as NonNullable<typeof settle>
  }

  /** Gives the request up. */
  end(reason: unknown): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#reject(reason)
    this.#giveUp()
  }

  begun(giveUp: () => void): void {
    this.#giveUp = giveUp
    if (this.#hasEnded) giveUp()
  }

  head(status: number, retryAfter: string | undefined): void {
    this.#status = status
    this.#retryAfter = retryAfter
  }

  data(chunk: Buffer): void {
    this.#length += chunk.length
    this.#blank &&= isBlank(chunk)
    if (this.#length > this.#maxBytes) {
      this.end(new UpstreamFault('too-large', `more than ${this.#maxBytes} bytes`))
    } else if (this.#blank && this.#length > LEADING_WHITESPACE_LIMIT) {
      this.end(new UpstreamFault('not-json', 'nothing but whitespace'))
    } else {
      this.#chunks.push(chunk)
    }
  }

  done(): void {
    this.#hasEnded = true
    const [only = Buffer.alloc(0)] = this.#chunks
    const bytes = this.#chunks.length <= 1 ? only : Buffer.concat(this.#chunks, this.#length)
    this.#resolve({ status: this.#status, retryAfter: this.#retryAfter, text: bytes.toString() })
  }

  failed(error: Error): void {
    this.end(new UpstreamFault('connection', connectionProblem(error)))
  }
}

function isBlank(chunk: Buffer): boolean {
  for (const byte of chunk) if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return false
  return true
}

function connectionProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  return code === undefined ? 'connection failed' : `connection failed (${code})`
}
