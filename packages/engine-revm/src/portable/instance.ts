import { wasi } from './wasi.js'

/** What an answer is, in the order of `Said` in crates/portable/src/instance.rs. */
const KINDS = ['done', 'rejected', 'read', 'later', 'changed', 'refused', 'failed'] as const

const PAGE = 65_536
/** Of WebAssembly: 4 GiB. */
const MOST_PAGES = 65_536
/** What the module has of its own at first, in pages. */
const FIRST_PAGES = 512
/** The hashes that alloy keeps, 16 MiB, which its first work makes room for. */
const HASHES_PAGES = 256

export interface Said {
  kind: (typeof KINDS)[number]
  text: string
  /** What follows the text, where it is long. */
  json: Uint8Array<ArrayBuffer> | undefined
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** One instance of the engine's module, with a memory of its own. It needs nothing of Node's: browsers have all of it. */
export class PortableInstance {
  readonly #memory: WebAssembly.Memory
  readonly #exports: WebAssembly.Instance['exports']
  #said = ''

  /**
   * @param memoryBytes that it may take at most beside what is its own; where it needs more, it ends
   * @param now the clock by which it ends work that has a limit, milliseconds
   */
  constructor(module: WebAssembly.Module, memoryBytes: number, now = () => performance.now()) {
    this.#memory = new WebAssembly.Memory({
      initial: FIRST_PAGES,
      maximum: Math.min(MOST_PAGES, FIRST_PAGES + HASHES_PAGES + Math.floor(memoryBytes / PAGE)),
    })
    const say = (text: string) => {
      this.#said = (this.#said + text).slice(-1_000)
    }
    const imports = wasi(this.#memory, say, now)
    const instance = new WebAssembly.Instance(module, {
      wasi_snapshot_preview1: imports,
      env: { memory: this.#memory },
    })
    this.#exports = instance.exports
  }

  /** Bytes of memory that it has taken: never fewer than before. */
  get bytes(): number {
    return this.#memory.buffer.byteLength
  }

  /**
   * @param question a word, then what belongs to it, a value a line: crates/portable/src/instance.rs has all of them. ASCII.
   * @param rest more of the same text
   * @throws Error where the question is refused, with a `code`; EngineEnded where the instance has ended: it answers no more
   */
  ask(question: string, rest: readonly Uint8Array[] = []): Said {
    const { room, ask } = this.#exports
    let kind: number
    try {
      const length = rest.reduce((sum, { length }) => sum + length, question.length)
      const start = room!(length)
      const text = new Uint8Array(this.#memory.buffer, start, length)
      encoder.encodeInto(question, text)
      let at = question.length
      for (const piece of rest) {
        text.set(piece, at)
        at += piece.length
      }
      kind = ask!()
    } catch (error) {
      throw new EngineEnded(this.#said.trim() || String(error), { cause: error })
    }
    const said: Said = { kind: KINDS[kind]!, text: decoder.decode(this.#part('text')), json: undefined }
    if (said.kind === 'refused') throw refused(said.text)
    if (this.#exports.json_length!() > 0) said.json = this.#part('json').slice()
    return said
  }

  #part(name: 'text' | 'json'): Uint8Array<ArrayBuffer> {
    const length = this.#exports[`${name}_length`]!()
    return new Uint8Array(this.#memory.buffer, this.#exports[name]!(), length)
  }
}

/** An instance that can't go on: it ran out of memory, or the engine is at fault. */
export class EngineEnded extends Error {
  override name = 'EngineEnded'

  get isOutOfMemory(): boolean {
    return /memory allocation of|capacity overflow/.test(this.message)
  }
}

function refused(text: string): Error {
  const [code, message] = text.split('\n')
  return Object.assign(new Error(message), { code })
}
