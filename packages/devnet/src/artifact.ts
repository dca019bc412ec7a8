import { readFileSync } from 'node:fs'
import type { Abi, Hex } from 'viem'

/** A compiled contract of `contracts/`: see `scripts/compile.mjs`. */
export interface Artifact {
  abi: Abi
  bytecode: Hex
  deployedBytecode: Hex
}

/** Permit2's runtime code, and where in it (in bytes) the immutables stand: see `scripts/extract-permit2.mjs`. */
export interface Permit2Artifact {
  deployedBytecode: Hex
  immutables: { chainId: number; domainSeparator: number }
}

export function readArtifact(name: 'Permit2'): Permit2Artifact
export function readArtifact(name: 'SwapRouter' | 'TestToken' | 'TestUsdc' | 'UptoPermit2Proxy'): Artifact
export function readArtifact(name: string): Artifact | Permit2Artifact {
  return JSON.parse(readFileSync(new URL(`../artifacts/${name}.json`, import.meta.url), 'utf8'))
}
