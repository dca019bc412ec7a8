import type { Address, Hash } from '@upfront/protocol'
import type { Touched, TouchedList } from '@upfront/simulation'
import type { Precompiles } from '../evm/simulation-evm.js'

/** Counts what the calls of a request touch, for metering: see `Touched`. */
export class TouchedState {
  readonly #accounts = new Set<Address>()
  readonly #slots = new Set<string>()
  #precompiles: Precompiles = new Map()
  #counting = false

  /** Counts what `run` touches. System calls don't count: they run outside of it. */
  async during<T>(precompiles: Precompiles, run: () => Promise<T>): Promise<T> {
    this.#precompiles = precompiles
    this.#counting = true
    try {
      return await run()
    } finally {
      this.#counting = false
    }
  }

  account(address: Address): void {
    if (this.#counting && !this.#precompiles.has(address)) this.#accounts.add(address)
  }

  slot(address: Address, slot: Hash): void {
    if (this.#counting) this.#slots.add(address + slot)
  }

  counts(): Touched {
    return { accounts: this.#accounts.size, slots: this.#slots.size }
  }

  list(): TouchedList {
    const slots = [...this.#slots].sort()
    return {
      accounts: [...this.#accounts].sort(),
      slots: slots.map((key) => ({ address: key.slice(0, 42) as Address, slot: key.slice(42) as Hash })),
    }
  }
}
