import { Pool } from 'undici'

/** Logs of 2,000 blocks are the largest answer that billing asks for. */
const LARGEST_ANSWER_BYTES = 64 * 1024 * 1024
const CONNECTIONS = 32

/** No usable answer came; `problem` holds neither URL nor key. */
export class ExchangeFault extends Error {
  override readonly name = 'ExchangeFault'
}

/** HTTP to one node over connections that are kept. */
export class Exchange {
  readonly #pool: Pool
  readonly #path: string
  readonly #headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json' }

  constructor(
    rpcUrl: string,
    private readonly timeoutMilliseconds: number,
  ) {
    const url = new URL(rpcUrl)
    this.#path = `${url.pathname}${url.search}`
    if (url.username !== '' || url.password !== '') {
      const userInfo = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
      this.#headers.authorization = `Basic ${Buffer.from(userInfo).toString('base64')}`
    }
    this.#pool = new Pool(url.origin, { connections: CONNECTIONS })
  }

  /** Posts JSON, answers JSON. Throws {@link ExchangeFault}. */
  async post(message: unknown): Promise<unknown> {
    const attempt = new AbortController()
    const timer = setTimeout(() => attempt.abort(), this.timeoutMilliseconds)
    try {
      const { statusCode, body } = await this.#pool.request({
        method: 'POST',
        path: this.#path,
        headers: this.#headers,
        body: JSON.stringify(message),
        signal: attempt.signal,
        headersTimeout: 0,
        bodyTimeout: 0,
      })
      const text = await readText(body)
      // Some nodes send JSON-RPC errors under 4xx; 429 and 5xx say to come again.
      if (statusCode >= 300 && (statusCode === 429 || statusCode >= 500 || !text.includes('"jsonrpc"'))) {
        throw new ExchangeFault(`HTTP ${statusCode}`)
      }
      return JSON.parse(text)
    } catch (error) {
      if (error instanceof ExchangeFault) throw error
      if (error instanceof SyntaxError) throw new ExchangeFault('an answer that is no JSON')
      throw new ExchangeFault(attempt.signal.aborted ? 'no answer in time' : 'no answer')
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    await this.#pool.destroy()
  }
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > LARGEST_ANSWER_BYTES) throw new ExchangeFault('an answer that is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length).toString('utf8')
}
