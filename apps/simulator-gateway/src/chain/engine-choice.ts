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

/**
 * @param memoryBytes that simulations may take together in the EVM (the native engine; EthereumJS bounds each of its threads)
 * @throws Error where the engine that was asked for can't be loaded
 */
export function chooseEngine(wanted: 'auto' | 'revm' | 'ethereumjs', memoryBytes: number): EngineChoice {
  if (wanted === 'ethereumjs') return { engine: createEthereumJsEngine(), reason: 'EVM_ENGINE asks for it' }
  const revm = loadRevm()
  const missing = 'reason' in revm ? revm.reason : undefined
  if (missing === undefined) {
    const reason = wanted === 'revm' ? 'EVM_ENGINE asks for it' : 'its addon loads'
    return { engine: createRevmEngine({ memoryBytes }), reason }
  }
  if (wanted === 'revm') throw new Error(`EVM_ENGINE: revm can't be loaded: ${missing}`)
  return { engine: createEthereumJsEngine(), reason: missing, standsIn: true }
}
