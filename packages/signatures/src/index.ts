import { readFileSync } from 'node:fs'

/** An ABI entry as compilers write it, reduced to what decoding needs, and its origin. */
export interface KnownSignature {
  type: 'function' | 'event' | 'error'
  name: string
  inputs: readonly SignatureParameter[]
  /** A standard, such as `ERC-20`, or a contract and its publisher. */
  from: string
}

export interface SignatureParameter {
  type: string
  name?: string
  indexed?: boolean
  components?: readonly SignatureParameter[]
}

let known: readonly KnownSignature[] | undefined

/**
 * Functions, events and errors of widely used contracts, standards first: of several with the same selector, the first is the likeliest.
 * Loaded on first use. Extracted from what the contracts' authors publish: see `scripts/extract.mjs`.
 */
export function knownSignatures(): readonly KnownSignature[] {
  known ??= JSON.parse(readFileSync(new URL('../signatures.json', import.meta.url), 'utf8')) as KnownSignature[]
  return known
}
