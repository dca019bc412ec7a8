import type { SlotField } from './slot-layout.js'

const MOST = 2_000

/** In which field of its slot contracts keep an amount, by their code: only a hint, as each amount that is set is read back. */
export class TokenLayouts {
  readonly #fields = new Map<string, SlotField>()

  get(code: string): SlotField | undefined {
    return this.#fields.get(code)
  }

  set(code: string, field: SlotField): void {
    this.#fields.delete(code)
    this.#fields.set(code, field)
    const [oldest] = this.#fields.keys()
    if (this.#fields.size > MOST && oldest !== undefined) this.#fields.delete(oldest)
  }
}
