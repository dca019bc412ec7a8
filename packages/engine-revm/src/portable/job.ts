import { count, list } from '../border/text.js'
import type { FromWorker, Question } from './worker.js'
import type { Errand, WorkerState } from './workers.js'

export interface JobOptions {
  id: number
  /** A kind of `Work` in crates/border/src/work.rs. */
  kind: string
  /** Key of the state that it runs on. */
  key: string
  /** The layers on that state, by number. */
  layers: ReadonlyMap<number, string>
  text: string
  /** More of the text. */
  rest?: readonly Uint8Array[]
}

/** CPU time limit of a simulation's first attempt, in milliseconds. Longer ones are started again among long work. */
const FIRST_MS = 40

/** State common to all jobs. */
export interface Held {
  /** Layers that work may ask for again. */
  layers: ReadonlyMap<number, string>
  /** How often every state was dropped. */
  cleared: number
}

/** Work for a worker. Each time that it lacks values of state, it is started again with them. */
export class Job implements Errand {
  readonly id: number
  readonly key: string
  /** Key and layers, as text. */
  readonly baseState: string
  /** Whether it exceeded the first time limit. */
  isLong = false
  /** Whether it needs more memory than a worker has. */
  isLarge = false
  readonly #options: JobOptions
  readonly #held: Held
  readonly #onAnswer: (answer: FromWorker) => void
  /** The reads that it lacked last, in the engine's text, and each one's value as a line; undefined if not known yet. */
  #reads: string[] = []
  /** How many of the reads, counted from the first, are certainly needed. */
  #certain = 0
  #values: (string | undefined)[] = []
  /** Texts that pass a worker each round's values. */
  readonly #provided: string[] = []
  /** The worker that has all of them except the last. */
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

  /** Whether it stops soon by itself: true for a simulation's first attempt, false for work that follows the chain. */
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

  /** @param known cached values in the order of `reads`, one per line @returns missing reads in the same format; undefined if none */
  lacks(reads: string, known: string): string | undefined {
    const lines = known.split('\n')
    ;[this.#reads, this.#certain] = readsIn(reads)
    this.#values = this.#reads.map((_, index) => (lines[index] === '-' ? undefined : lines[index]))
    if (this.#values.includes(undefined)) return `${this.missing()}${this.#missing(this.#certain).length}\n`
    this.#provide()
    return undefined
  }

  /** The reads that it waits for. */
  missing(): string {
    return readsText(this.#missing(this.#reads.length))
  }

  /** @param values of `missing`, one line each */
  give(values: string): void {
    const given = values.split('\n')
    let next = 0
    this.#values = this.#values.map((value) => value ?? given[next++]!)
    this.#provide()
  }

  /** The missing ones of the first `most` reads. */
  #missing(most: number): string[] {
    return this.#reads.slice(0, most).filter((_, index) => this.#values[index] === undefined)
  }

  #provide(): void {
    this.#provided.push(`provide\n${this.key}\n${readsText(this.#reads)}${this.#values.join('\n')}\n`)
  }

  /** What a worker must be told before the work. */
  #news(worker: WorkerState): string[] {
    const { layers } = this.#options
    const { cleared } = this.#held
    const dropped = [...worker.layers].filter((number) => !this.#held.layers.has(number) && !layers.has(number))
    const added = [...layers].filter(([number]) => !worker.layers.has(number))
    for (const number of dropped) worker.layers.delete(number)
    for (const [number] of added) worker.layers.add(number)
    const clears = worker.cleared < cleared
    worker.cleared = cleared
    return [
      ...(clears ? ['clear\n'] : []),
      ...dropped.map((number) => `drop\n${count(number)}`),
      ...added.map(([number, layer]) => layerQuestion(number, layer)),
    ]
  }
}

/** ASCII text in shared memory, which is not copied when it is sent to a worker. */
export function sharedBytes(text: string): Uint8Array {
  const bytes = Buffer.from(new SharedArrayBuffer(text.length))
  bytes.write(text, 'latin1')
  return bytes
}

export function layerQuestion(number: number, layer: string): string {
  return `layer\n${count(number)}${layer}`
}

/** Splits the engine's list of reads (a kind, an address or number, for storage a slot), with the number of certain ones. */
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

/** A list of reads in the engine's format. */
function readsText(reads: readonly string[]): string {
  return `0x${reads.length.toString(16)}\n${reads.join('')}`
}
