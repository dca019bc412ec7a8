import type { Cancellation } from '@upfront/node'
import type { Hash } from '@upfront/protocol'
import type { Answer, Engine, SimulationPlan, StatePoint, StateRead, StateValue, Step } from '@upfront/simulation'
import { writeLayer, writePlan, writeRead } from '../border/records.js'
import { count, list } from '../border/text.js'
import { readAnswer, readRejection } from '../outcome-text.js'
import { readReads, readValues, valuesText } from '../values-text.js'
import { PortableInstance, type Said } from './instance.js'

const MEMORY_BYTES = 1024 ** 3
const decoder = new TextDecoder()

/**
 * The engine on a single instance of its module, for environments without Node and spare threads: a page, or a web worker that the page
 * can terminate. It executes synchronously, without a time limit.
 *
 * @example
 * ```ts
 * const module = await WebAssembly.compileStreaming(fetch('portable.wasm'))
 * const { checks } = await verify(bill, { engine: createPageEngine(module) }) // of @upfront/receipt
 * ```
 * @param module portable.wasm, a `WebAssembly.Module`: typed as object, because not every importer has that type
 */
export function createPageEngine(module: object): Engine {
  return new PageEngine(module as WebAssembly.Module)
}

class PageEngine implements Engine {
  readonly name = 'portable'
  readonly version: string
  readonly #instance: PortableInstance
  #layers = 0

  constructor(module: WebAssembly.Module) {
    this.#instance = new PortableInstance(module, MEMORY_BYTES)
    this.version = this.#instance.ask('version\n').text
  }

  begin(plan: SimulationPlan, { key, layers }: StatePoint, cancellation: Cancellation): Step<Answer> {
    const numbers = layers.map((layer) => {
      this.#layers += 1
      this.#instance.ask(`layer\n${count(this.#layers)}${writeLayer(layer)}`)
      return this.#layers
    })
    const question = `perform\n${count(0)}simulate\n${key}\n${list(numbers, count)}${writePlan(plan)}`
    const end = () => {
      for (const number of numbers) this.#instance.ask(`drop\n${count(number)}`)
    }
    const go = (): Step<Answer> => {
      cancellation.signal.throwIfAborted()
      const said = this.#instance.ask(question)
      if (said.kind === 'read') return this.#lacking(key, said, go, end)
      end()
      if (said.kind === 'done')
        return { kind: 'done', outcome: readAnswer(said.text + decoder.decode(said.json), undefined) }
      throw said.kind === 'rejected' ? readRejection(said.text, plan) : new Error('the engine failed')
    }
    return go()
  }

  missing(key: Hash, reads: readonly StateRead[]): StateRead[] {
    const { text } = this.#instance.ask(`missing\n${key}\n${list(reads, writeRead)}`)
    return reads.filter((_, index) => text[index] === '1')
  }

  known(key: Hash, reads: readonly StateRead[]): (StateValue | undefined)[] {
    return readValues(reads, this.#instance.ask(`known\n${key}\n${list(reads, writeRead)}`).text)
  }

  provide(key: Hash, reads: readonly StateRead[], values: readonly StateValue[]): void {
    this.#instance.ask(`provide\n${key}\n${list(reads, writeRead)}${valuesText(values)}`)
  }

  async close(): Promise<void> {}

  #lacking(key: Hash, said: Said, go: () => Step<Answer>, end: () => void): Step<Answer> {
    const lacking = readReads(said.text)
    return {
      kind: 'lacking',
      ...lacking,
      resume: (values) => {
        this.provide(key, lacking.reads, values)
        return go()
      },
      abandon: end,
    }
  }
}
