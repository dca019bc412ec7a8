import type { ServerResponse } from 'node:http'

/** Overrides methods and properties of a response until `off` restores them. */
export class Mask {
  readonly #response: ServerResponse
  readonly #own = new Map<string, PropertyDescriptor | undefined>()

  constructor(response: ServerResponse) {
    this.#response = response
  }

  method(name: keyof ServerResponse & string, value: (...given: never[]) => unknown): void {
    this.#put(name, { configurable: true, writable: true, value })
  }

  property(name: keyof ServerResponse & string, get: () => boolean): void {
    this.#put(name, { configurable: true, get })
  }

  off(): void {
    for (const [name, own] of this.#own) {
      if (own === undefined) Reflect.deleteProperty(this.#response, name)
      else Object.defineProperty(this.#response, name, own)
    }
    this.#own.clear()
  }

  #put(name: string, property: PropertyDescriptor): void {
    if (!this.#own.has(name)) this.#own.set(name, Object.getOwnPropertyDescriptor(this.#response, name))
    Object.defineProperty(this.#response, name, property)
  }
}
