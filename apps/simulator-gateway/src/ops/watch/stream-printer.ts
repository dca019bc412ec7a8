import type { Flashblock, RecentHead } from '@upfront/chain'
import { LRUCache } from 'lru-cache'
import type { AnswerState } from '../../pending/answer-state.js'

/** Most flashblocks and blocks that are remembered. */
const MAX_OPEN = 100

/** Prints the flashblocks of the stream, and when the gateway shows each. */
export class StreamPrinter {
  readonly #arrived = new LRUCache<string, number>({ max: MAX_OPEN })
  readonly #told = new LRUCache<string, string>({ max: MAX_OPEN })
  #answerState = ''
  #problem: string | undefined
  #newest = 0n
  readonly #print: (line: string) => void

  constructor(print: (line: string) => void) {
    this.#print = print
  }

  say(text: string): void {
    this.#print(`${new Date().toISOString().slice(11, 23)}  ${text}`)
  }

  flashblock({ blockNumber, index, transactions, gasUsed }: Flashblock): void {
    this.#arrived.set(`${blockNumber}/${index}`, performance.now())
    const mgas = (Number(gasUsed) / 1e6).toFixed(3)
    this.say(`block ${blockNumber} flashblock ${index}: +${transactions.length} transactions, ${mgas} Mgas so far`)
  }

  /** The gateway's newest sealed block. */
  head(number: bigint): void {
    if (number !== this.#newest) this.say(`head: block ${number} is sealed`)
    this.#newest = number
  }

  /** The blocks that the gateway followed recently, oldest first. */
  followed(heads: readonly RecentHead[]): void {
    for (const { block, hash, reorganised, carried, reason, detail, transactions, read, written, tookMs } of heads) {
      // Whether its state was carried is known a little later than the block.
      const state = carried === undefined ? 'seen' : carried ? 'carried' : 'not carried'
      if (this.#told.get(hash) === state || (this.#told.has(hash) && state === 'seen')) continue
      this.#told.set(hash, state)
      const branch = reorganised ? ', on another branch' : ''
      if (state === 'seen') this.say(`gateway: follows block ${block}${branch}`)
      else if (state === 'not carried')
        this.say(`gateway: block ${block} starts with no state: ${reason ?? 'dropped'}${detail ? ` (${detail})` : ''}`)
      else
        this.say(
          `gateway: carried its state over block ${block}: ${transactions} transactions, ${read} values read, ${written} written, ${tookMs} ms`,
        )
    }
  }

  /** The state that the gateway's `pending` is on. */
  gateway(answerState: AnswerState): void {
    this.#problem = undefined
    const shown = answerState.kind === 'latest' ? 'latest' : `${answerState.block}/${answerState.flashblock}`
    if (shown === this.#answerState) return
    this.#answerState = shown
    if (answerState.kind === 'latest') {
      this.say(`gateway: pending is the head, block ${answerState.block}`)
      return
    }
    const arrived = this.#arrived.get(shown)
    const lag = arrived === undefined ? '' : `, ${Math.round(performance.now() - arrived)} ms after it came`
    this.say(`gateway: shows block ${answerState.block} flashblock ${answerState.flashblock}${lag}`)
  }

  gatewayProblem(reason: string): void {
    if (reason !== this.#problem) this.say(`gateway: ${reason}`)
    this.#problem = reason
  }
}
