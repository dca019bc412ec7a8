import { createEthereumJsEngine } from '@upfront/engine-ethereumjs'
import { createRevmEngine, loadRevm } from '@upfront/engine-revm'
import type { Engine } from '@upfront/simulation'

/** Injection token of the `EngineChoice`. */
export const ENGINE = Symbol('ENGINE')

/** The engine that serves, and why it is this one. */
export interface EngineChoice {
  engine: Engine
  reason: string
  /** It stands in for the native engine, which can't be loaded here. */
  standsIn?: true
}

/** @throws Error where the engine that was asked for can't be loaded */
export function chooseEngine(wanted: 'auto' | 'revm' | 'ethereumjs'): EngineChoice {
  if (wanted === 'ethereumjs') return { engine: createEthereumJsEngine(), reason: 'EVM_ENGINE asks for it' }
  const revm = loadRevm()
  const missing = 'reason' in revm ? revm.reason : undefined
  if (missing === undefined) {
    return { engine: createRevmEngine(), reason: wanted === 'revm' ? 'EVM_ENGINE asks for it' : 'its addon loads' }
  }
  if (wanted === 'revm') throw new Error(`EVM_ENGINE: revm can't be loaded: ${missing}`)
  return { engine: createEthereumJsEngine(), reason: missing, standsIn: true }
}
