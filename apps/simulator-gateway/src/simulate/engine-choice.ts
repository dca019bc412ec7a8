import { createRevmEngine, loadRevm } from '@upfront/engine-revm'
import type { Engine } from '@upfront/simulation'

/** Injection token of the `EngineChoice`. */
export const ENGINE = Symbol('ENGINE')

/** The engine that serves, and why it is this one. */
export interface EngineChoice {
  engine: Engine
  reason: string
}

/** @throws Error where the engine that was asked for is not to be had here */
export function chooseEngine(wanted: 'auto' | 'revm' | 'ethereumjs'): EngineChoice {
  const revm = loadRevm()
  if (wanted === 'ethereumjs' || 'reason' in revm) throw new Error('engine-ethereumjs has not landed yet')
  return { engine: createRevmEngine(), reason: wanted === 'revm' ? 'EVM_ENGINE asks for it' : 'its addon loads' }
}
