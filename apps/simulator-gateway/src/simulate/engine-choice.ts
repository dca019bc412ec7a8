import type { Engine } from '@upfront/simulation'

/** Injection token of the `EngineChoice`. */
export const ENGINE = Symbol('ENGINE')

/** The engine that serves, and why it is this one. */
export interface EngineChoice {
  engine: Engine
  reason: string
}
