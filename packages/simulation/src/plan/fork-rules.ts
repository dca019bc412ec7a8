import type { EthereumFork } from './chain-rules.js'

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
