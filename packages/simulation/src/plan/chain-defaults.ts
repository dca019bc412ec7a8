import type { BlobParameters, OpBaseFeeParameters } from './chain-rules.js'

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
