import { count, list } from '../border/text.js'
import type { FromWorker, Question } from './worker.js'
import type { Errand, WorkerState } from './workers.js'

export interface JobOptions {
  id: number
  /** Of `Work` in crates/border/src/work.rs. */
  kind: string
  /** Of the state that it stands on. */
  key: string
  /** The layers on it, each with its number. */
  layers: ReadonlyMap<number, string>
  text: string
  /** What comes after it. */
  rest?: readonly Uint8Array[]
}

/** Milliseconds of CPU that a simulation has at first: with more to do it is begun once more, among those that take long. */
const FIRST_MS = 40

/** What all work is told apart from its own. */
export interface Held {
  /** Layers that work may come to ask for again. */
  layers: ReadonlyMap<number, string>
  /** How often every state was dropped. */
  forgot: number
}

/** Work for a worker, until it is done: each time that it lacks values of the state, it is begun once more, with them. */
export class Job implements Errand {
  readonly id: number
  readonly key: string
  /** Key and layers. */
  readonly baseState: string
  /** It takes longer than a simulation has at first. */
  isLong = false
  /** It took more memory than a worker has, so it is done where there is more. */
  isLarge = false
  readonly #options: JobOptions
  readonly #held: Held
  readonly #onAnswer: (answer: FromWorker) => void
  /** What it lacked last, as the engine wrote it, and each one's value as a line; undefined where that is not known yet. */
  #reads: string[] = []
  /** So many of them, at their beginning, are needed in any case. */
  #certain = 0
  #values: (string | undefined)[] = []
  /** What gives a worker the values of each time. */
  readonly #provided: string[] = []
  /** Who has had all of them but the last. */
  #worker: WorkerState | undefined

  constructor(options: JobOptions, held: Held, onAnswer: (answer: FromWorker) => void) {
    const { id, key, layers } = options
    this.id = id
    this.key = key
    this.baseState = `${key}\n${list([...layers.keys()], count)}`
    this.#options = options
    this.#held = held
    this.#onAnswer = onAnswer
  }

  /** A simulation at first; what follows the chain goes on to its end. */
  get endsSoon(): boolean {
    return this.#options.kind === 'simulate' && !this.isLong && !this.isLarge
  }

  questions(worker: WorkerState): Question[] {
    const { kind, text, rest = [] } = this.#options
    const provided = this.#worker === worker ? this.#provided.slice(-1) : this.#provided
    this.#worker = worker
    const before = [...this.#news(worker), ...provided].map((question): Question => [question])
    return [...before, [`perform\n${count(this.endsSoon ? FIRST_MS : 0)}${kind}\n${this.baseState}${text}`, ...rest]]
  }

  answered(answer: FromWorker): void {
    this.#onAnswer(answer)
  }

  /** @param known the values that are held, in the order of `reads`, a line each @returns what is missing, as the engine writes what it lacks; undefined where nothing is */
  lacks(reads: string, known: string): string | undefined {
    const lines = known.split('\n')
    ;[this.#reads, this.#certain] = readsIn(reads)
    this.#values = this.#reads.map((_, index) => (lines[index] === '-' ? undefined : lines[index]))
    if (this.#values.includes(undefined)) return `${this.missing()}${this.#missing(this.#certain).length}\n`
    this.#provide()
    return undefined
  }

  /** The reads whose values it waits for. */
  missing(): string {
    return readsText(this.#missing(this.#reads.length))
  }

  /** @param values of `missing`, a line each */
  give(values: string): void {
    const given = values.split('\n')
    let next = 0
    this.#values = this.#values.map((value) => value ?? given[next++]!)
    this.#provide()
  }

  /** Of the first so many reads. */
  #missing(most: number): string[] {
    return this.#reads.slice(0, most).filter((_, index) => this.#values[index] === undefined)
  }

  #provide(): void {
    this.#provided.push(`provide\n${this.key}\n${readsText(this.#reads)}${this.#values.join('\n')}\n`)
  }

  /** What a worker must be told before. */
  #news(worker: WorkerState): string[] {
    const { layers } = this.#options
    const { forgot } = this.#held
    const dropped = [...worker.layers].filter((number) => !this.#held.layers.has(number) && !layers.has(number))
    const added = [...layers].filter(([number]) => !worker.layers.has(number))
    for (const number of dropped) worker.layers.delete(number)
    for (const [number] of added) worker.layers.add(number)
    const forgets = worker.forgot < forgot
    worker.forgot = forgot
    return [
      ...(forgets ? ['forget\n'] : []),
      ...dropped.map((number) => `drop\n${count(number)}`),
      ...added.map(([number, layer]) => layerQuestion(number, layer)),
    ]
  }
}

/** ASCII in memory that is not copied when it is sent to a worker. */
export function sharedBytes(text: string): Uint8Array {
  const bytes = Buffer.from(new SharedArrayBuffer(text.length))
  bytes.write(text, 'latin1')
  return bytes
}

export function layerQuestion(number: number, layer: string): string {
  return `layer\n${count(number)}${layer}`
}

/** Each read of a list that the engine wrote: a kind, an address or a number, and a slot where it is one of storage; and how many are certain. */
function readsIn(text: string): [reads: string[], certain: number] {
  const [, ...lines] = text.split('\n')
  const reads: string[] = []
  const end = lines.length - 2
  for (let at = 0; at < end; ) {
    const next = at + (lines[at] === 'storage' ? 3 : 2)
    reads.push(`${lines.slice(at, next).join('\n')}\n`)
    at = next
  }
  return [reads, Number(lines[end])]
}

/** As the engine writes it. */
function readsText(reads: readonly string[]): string {
  return `0x${reads.length.toString(16)}\n${reads.join('')}`
}
