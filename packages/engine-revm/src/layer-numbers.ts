import type { StateLayer } from '@upfront/simulation'
import type { EngineCore } from './addon.js'
import { writeLayer } from './border/records.js'

/** More than the flashblocks of a dozen blocks. */
const KEPT_LAYERS = 128

/** Tracks the layers that the addon holds, so that each crosses the border once. The least recently used are dropped first. */
export class LayerNumbers {
  readonly #numbers = new Map<string, number>()
  #next = 0

  constructor(readonly core: EngineCore) {}

  /** The numbers of these layers in the addon, after passing it the missing ones. */
  of(layers: readonly StateLayer[]): number[] {
    const numbers = layers.map((layer) => {
      const known = this.#numbers.get(layer.id)
      const number = known ?? this.#add(layer)
      this.#numbers.delete(layer.id)
      this.#numbers.set(layer.id, number)
      return number
    })
    this.#forget(Math.max(KEPT_LAYERS, layers.length))
    return numbers
  }

  #add(layer: StateLayer): number {
    this.#next = (this.#next + 1) >>> 0
    this.core.addLayer(this.#next, writeLayer(layer))
    return this.#next
  }

  #forget(kept: number): void {
    for (const [id, number] of this.#numbers) {
      if (this.#numbers.size <= kept) return
      this.#numbers.delete(id)
      this.core.dropLayer(number)
    }
  }
}
