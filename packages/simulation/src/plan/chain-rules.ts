import type { Address } from '@upfront/protocol'
import type { BlockSchedule } from './block-schedule.js'

/** Ethereum's execution forks since the Merge, oldest first. Blob-parameter-only forks change `BlobParameters` alone. */
export const ETHEREUM_FORKS = ['paris', 'shanghai', 'cancun', 'prague', 'osaka', 'amsterdam'] as const
export type EthereumFork = (typeof ETHEREUM_FORKS)[number]

/**
 * OP-stack forks, oldest first. A chain has either `karst`, or Base's `azul` and later. All of these include Osaka's EVM; Base's keep
 * Jovian's limit on pairing inputs.
 */
export const OP_FORKS = [
  'bedrock',
  'regolith',
  'canyon',
  'ecotone',
  'fjord',
  'granite',
  'holocene',
  'isthmus',
  'jovian',
  'karst',
  'azul',
  'beryl',
  'cobalt',
  'denim',
] as const
export type OpFork = (typeof OP_FORKS)[number]

/** EIP-7840; target and max in blobs, not gas. */
export interface BlobParameters {
  target: number
  max: number
  baseFeeUpdateFraction: bigint
}

/** EIP-1559 parameters of an OP-stack chain before Holocene, when headers did not carry them. */
export interface OpBaseFeeParameters {
  elasticity: bigint
  denominator: bigint
  denominatorCanyon: bigint
}

/** One chain's rules by activation time. `rulesAt` returns a block's own. */
export interface ChainRules {
  chainId: bigint
  stack: 'ethereum' | 'optimism'
  /** Source of the rules, for the log and `/health`. */
  source: 'genesis-file' | 'known-chain' | 'eth_config' | 'debug_chainConfig' | 'inferred'
  /** Forks by activation time in seconds; `paris` and `bedrock` by block number if the chain is older. */
  forks: ForkActivation[]
  /** EIP-7840 schedule, ascending; the last active entry applies. Empty on OP-stack chains. */
  blobSchedule: { timestamp: bigint; parameters: BlobParameters }[]
  schedule: BlockSchedule
  /** EIP-6110's deposit contract, if the chain has one. */
  depositContract?: Address
  opBaseFee?: OpBaseFeeParameters
  /** A fork may be active that these rules lack; `caveats` say why. */
  isUncertain?: true
  /** Known differences from the chain's nodes, for the log and `/health`. */
  caveats?: string[]
  /** The chain's first fork that is not implemented here. Blocks from then on are refused, never simulated by older rules. */
  unsupportedFrom?: { fork: string; timestamp: bigint }
}

export type ForkActivation = { fork: EthereumFork | OpFork } & ({ timestamp: bigint } | { block: bigint })

/** The rules of one block. An OP-stack block has the Ethereum fork that its own fork includes. */
export interface BlockRules {
  fork: EthereumFork
  opFork?: OpFork
  /** From Cancun on, on Ethereum only. */
  blob?: BlobParameters
}

/** Seconds between blocks. */
export const DEFAULT_BLOCK_TIME = { ethereum: 12n, optimism: 2n } as const

/** OP mainnet's, used by almost every OP-stack chain. */
export const DEFAULT_OP_BASE_FEE: OpBaseFeeParameters = { elasticity: 6n, denominator: 50n, denominatorCanyon: 250n }

const CANCUN: BlobParameters = { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477n }
const PRAGUE: BlobParameters = { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n }

/** EIP-4844 and EIP-7691. Osaka keeps them; BPO forks are in the chain's own configuration. */
export const DEFAULT_BLOB_PARAMETERS: Readonly<Partial<Record<string, BlobParameters>>> = {
  cancun: CANCUN,
  prague: PRAGUE,
}

/** A fork's limits and prices, apart from those inside the engines. */
export interface ForkRules {
  /** Gas limit of a transaction (EIP-7825). None from Amsterdam on, which bounds only execution gas. */
  transactionGas?: bigint
  /** Whether the blob base fee has a floor that follows the base fee (EIP-7918). */
  reservesBlobPrice: boolean
}

const PARIS: ForkRules = { reservesBlobPrice: false }
const OSAKA: ForkRules = { ...PARIS, transactionGas: 1n << 24n, reservesBlobPrice: true }

const { transactionGas: _onlyExecuted, ...AMSTERDAM } = OSAKA

export const FORK_RULES: Readonly<Record<EthereumFork, ForkRules>> = {
  paris: PARIS,
  shanghai: PARIS,
  cancun: PARIS,
  prague: PARIS,
  osaka: OSAKA,
  amsterdam: AMSTERDAM,
}
