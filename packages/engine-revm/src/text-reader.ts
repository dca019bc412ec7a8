import type { Hex } from '@upfront/protocol'

/** Reads what the addon says: one value a line, `-` for an absent one. */
export class TextReader {
  #at = 0

  constructor(readonly text: string) {}

  word(): string {
    const end = this.text.indexOf('\n', this.#at)
    const word = this.text.slice(this.#at, end)
    this.#at = end + 1
    return word
  }

  /** All that is left. */
  rest(): string {
    return this.text.slice(this.#at)
  }

  hex(): Hex {
    return this.word() as Hex
  }

  bigint(): bigint {
    return BigInt(this.word())
  }

  number(): number {
    return Number(this.word())
  }

  optionalHex(): Hex | undefined {
    const word = this.word()
    return word === '-' ? undefined : (word as Hex)
  }

  optionalBigint(): bigint | undefined {
    const word = this.word()
    return word === '-' ? undefined : BigInt(word)
  }
}
