import { readFileSync } from 'node:fs'
import type { Abi, Address, Hex } from 'viem'

/** A compiled contract of `contracts/`: see `scripts/compile.mjs`. */
export interface Artifact {
  abi: Abi
  bytecode: Hex
  deployedBytecode: Hex
}

/** Permit2's runtime code, with the offsets of its immutables in bytes: see `scripts/extract-permit2.mjs`. */
export interface Permit2Artifact {
  deployedBytecode: Hex
  immutables: { chainId: number; domainSeparator: number }
}

/** The deployed runtime code of x402's exact proxy: see `scripts/extract-exact-proxy.mjs`. */
export interface DeployedArtifact {
  source: { repository: string; commit: string; path: string; license: string }
  deployedBytecode: Hex
}

/** Contracts that the protocol calls before and after a block's transactions: see `scripts/extract-system-contracts.mjs`. */
export interface SystemContractsArtifact {
  contracts: { eip: number; address: Address; code: Hex }[]
}

export function readArtifact(name: 'Permit2'): Permit2Artifact
export function readArtifact(name: 'ExactPermit2Proxy'): DeployedArtifact
export function readArtifact(name: 'SystemContracts'): SystemContractsArtifact
export function readArtifact(
  name:
    | 'BatchAccount'
    | 'FeeToken'
    | 'LendingPool'
    | 'OutcomeGuard'
    | 'OwnKeyAccount'
    | 'RebasingToken'
    | 'SwapRouter'
    | 'TestToken'
    | 'TestUsdc'
    | 'TokenLayouts'
    | 'UptoPermit2Proxy',
): Artifact
export function readArtifact(name: string): Artifact | Permit2Artifact | DeployedArtifact | SystemContractsArtifact {
  return JSON.parse(readFileSync(new URL(`../artifacts/${name}.json`, import.meta.url), 'utf8'))
}
