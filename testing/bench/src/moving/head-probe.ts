import { Pool } from 'undici'

/** Records when polling the node over the same link first showed each head, Unix time in milliseconds. */
export class HeadProbe {
  readonly #shownAt = new Map<number, number>()
  readonly #pool: Pool
  readonly #timer: NodeJS.Timeout

  constructor(url: string, everyMs = 10) {
    this.#pool = new Pool(url, { connections: 16 })
    this.#timer = setInterval(() => void this.#ask(), everyMs)
  }

  /** How long the head after `block` had been visible to the poll when a response on `block` arrived. */
  staleness(block: number, answeredAt: number): number {
    const next = this.#shownAt.get(block + 1)
    return next === undefined ? 0 : Math.max(0, answeredAt - next)
  }

  /** Number of heads seen so far. */
  get heads(): number {
    return this.#shownAt.size
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#pool.close()
  }

  async #ask(): Promise<void> {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'
    const headers = { 'content-type': 'application/json' }
    const response = await this.#pool.request({ path: '/', method: 'POST', headers, body })
    const { result } = (await response.body.json()) as { result: string }
    if (!this.#shownAt.has(Number(result)))
      this.#shownAt.set(Number(result), performance.timeOrigin + performance.now())
  }
}
