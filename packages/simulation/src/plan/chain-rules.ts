import type { Address } from '@upfront/protocol'
import type { BlockSchedule } from './block-schedule.js'

/** Ethereum's execution forks from the Merge on, oldest first. Blob-parameter-only forks change `BlobParameters` alone. */
export const ETHEREUM_FORKS = ['paris', 'shanghai', 'cancun', 'prague', 'osaka', 'amsterdam'] as const
export type EthereumFork = (typeof ETHEREUM_FORKS)[number]

/**
 * OP-stack hard forks, oldest first. A chain has `karst` or, where it is Base's, `azul` and what follows: all of these bring Osaka's
 * EVM, and Base's keep Jovian's limit on the input of pairings.
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

/** EIP-7840 (target and max in blobs, not gas). */
export interface BlobParameters {
  target: number
  max: number
  baseFeeUpdateFraction: bigint
}

/** EIP-1559 parameters of an OP-stack chain before its headers carry them (Holocene). */
export interface OpBaseFeeParameters {
  elasticity: bigint
  denominator: bigint
  denominatorCanyon: bigint
}

/** The rules of one chain, as activation times. Resolve a block's own with `rulesAt`. */
export interface ChainRules {
  chainId: bigint
  stack: 'ethereum' | 'optimism'
  /** Where these rules came from, for the log and `/health`. */
  source: 'genesis-file' | 'known-chain' | 'eth_config' | 'debug_chainConfig' | 'inferred'
  /** Forks with their activation time in seconds; `paris` and `bedrock` by block number where the chain was older. */
  forks: ForkActivation[]
  /** EIP-7840 schedule by activation time, ascending: the last that is active counts. Empty on OP-stack chains. */
  blobSchedule: { timestamp: bigint; parameters: BlobParameters }[]
  schedule: BlockSchedule
  /** EIP-6110 deposit contract, where the chain has one. */
  depositContract?: Address
  opBaseFee?: OpBaseFeeParameters
  /** Set where a fork may be active that these rules do not have; `caveats` say why. */
  isUncertain?: true
  /** What of this chain is known to be simulated otherwise than its nodes do it, for the log and `/health`. */
  caveats?: string[]
  /** The first fork of this chain that is not known here: blocks from then on are refused, never simulated by older rules. */
  unsupportedFrom?: { fork: string; timestamp: bigint }
}

export type ForkActivation = { fork: EthereumFork | OpFork } & ({ timestamp: bigint } | { block: bigint })

/** What applies to one block. An OP-stack block has the Ethereum fork that its own fork brings along. */
export interface BlockRules {
  fork: EthereumFork
  opFork?: OpFork
  /** From Cancun on, on Ethereum. */
  blob?: BlobParameters
}

/** Seconds between blocks. */
export const DEFAULT_BLOCK_TIME = { ethereum: 12n, optimism: 2n } as const

/** OP mainnet's, which almost every OP-stack chain has. */
export const DEFAULT_OP_BASE_FEE: OpBaseFeeParameters = { elasticity: 6n, denominator: 50n, denominatorCanyon: 250n }

const CANCUN: BlobParameters = { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477n }
const PRAGUE: BlobParameters = { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n }

/** EIP-4844 and EIP-7691. Osaka changes none; what a BPO fork brings is the chain's own configuration. */
export const DEFAULT_BLOB_PARAMETERS: Readonly<Partial<Record<string, BlobParameters>>> = {
  cancun: CANCUN,
  prague: PRAGUE,
}

/** What a fork bounds and prices, for all that is not left to the engines. */
export interface ForkRules {
  /** Most gas that a transaction may ask for (EIP-7825); none from Amsterdam on, where what it executes is bounded alone. */
  transactionGas?: bigint
  /** Whether a high base fee keeps the price of blobs from falling (EIP-7918). */
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
