import { wasi } from './wasi.js'

/** Kinds of answers, in the order of `AnswerKind` in crates/portable/src/instance.rs. */
const KINDS = ['done', 'rejected', 'read', 'later', 'changed', 'refused', 'failed'] as const

const PAGE = 65_536
/** WebAssembly's maximum: 4 GiB. */
const MAX_PAGES = 65_536
/** The module's own initial memory, in pages. */
const FIRST_PAGES = 512
/** alloy's hash cache, 16 MiB, allocated by the first work. */
const HASHES_PAGES = 256

export interface Said {
  kind: (typeof KINDS)[number]
  text: string
  /** The rest of the text, if it is long. */
  json: Uint8Array<ArrayBuffer> | undefined
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** One instance of the engine's module, with its own memory. Uses nothing of Node's, so it also runs in browsers. */
export class PortableInstance {
  readonly #memory: WebAssembly.Memory
  readonly #exports: WebAssembly.Instance['exports']
  #said = ''

  /**
   * @param memoryBytes limit in addition to the module's own memory; beyond it the instance ends
   * @param now the clock for work with a time limit, in milliseconds
   */
  constructor(module: WebAssembly.Module, memoryBytes: number, now = () => performance.now()) {
    this.#memory = new WebAssembly.Memory({
      initial: FIRST_PAGES,
      maximum: Math.min(MAX_PAGES, FIRST_PAGES + HASHES_PAGES + Math.floor(memoryBytes / PAGE)),
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

  /** Bytes of memory that it has allocated. Never shrinks. */
  get bytes(): number {
    return this.#memory.buffer.byteLength
  }

  /**
   * @param question a word, then its arguments, one value per line, in ASCII: see crates/portable/src/instance.rs
   * @param rest more of the same text
   * @throws Error with a `code` if the question is refused; EngineEnded if the instance has ended and answers no more
   */
  ask(question: string, rest: readonly Uint8Array[] = []): Said {
    const { allocate, ask } = this.#exports
    let kind: number
    try {
      const length = rest.reduce((sum, { length }) => sum + length, question.length)
      const start = allocate!(length)
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

/** The instance can't go on: it ran out of memory, or has a fault. */
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
