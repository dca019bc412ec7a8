import { createPortableEngine, createRevmEngine, loadRevm, type RevmEngine } from '@upfront/engine-revm'

/** Injection token of the `EngineChoice`. */
export const ENGINE = Symbol('ENGINE')

/** The engine build in use, and the reason for it. */
export interface EngineChoice {
  engine: RevmEngine
  reason: string
  /** The portable build replaces the native one, which can't be loaded here. */
  standsIn?: true
}

/**
 * @param memoryBytes memory that all simulations together may take in the EVM
 * @throws Error if the native build is required and can't be loaded
 */
export function chooseEngine(wanted: 'auto' | 'native' | 'portable', memoryBytes: number): EngineChoice {
  if (wanted === 'portable') return { engine: createPortableEngine({ memoryBytes }), reason: 'selected by EVM_ENGINE' }
  const { reason } = loadRevm()
  if (reason === undefined)
    return {
      engine: createRevmEngine({ memoryBytes }),
      reason: wanted === 'native' ? 'selected by EVM_ENGINE' : 'its addon loads',
    }
  if (wanted === 'native') throw new Error(`EVM_ENGINE: the native build can't be loaded: ${reason}`)
  return { engine: createPortableEngine({ memoryBytes }), reason, standsIn: true }
}
