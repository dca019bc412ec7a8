import type { EthereumFork } from './chain-rules.js'

/** What a fork bounds and prices, for all that is not left to the engines. */
export interface ForkRules {
  /** Most gas that a transaction may ask for (EIP-7825); none from Amsterdam on, where what it executes is bounded alone. */
  transactionGas?: bigint
  /** Whether a high base fee keeps the price of blobs from falling (EIP-7918). */
  reservesBlobPrice: boolean
  /** Most bytes of init code (EIP-3860, EIP-7954). */
  initCodeBytes?: bigint
}

const PARIS: ForkRules = { reservesBlobPrice: false }
const SHANGHAI: ForkRules = { ...PARIS, initCodeBytes: 49_152n }
const OSAKA: ForkRules = { ...SHANGHAI, transactionGas: 1n << 24n, reservesBlobPrice: true }

const { transactionGas: _onlyExecuted, ...UNCAPPED } = OSAKA
const AMSTERDAM: ForkRules = { ...UNCAPPED, initCodeBytes: 131_072n }

export const FORK_RULES: Readonly<Record<EthereumFork, ForkRules>> = {
  paris: PARIS,
  shanghai: SHANGHAI,
  cancun: SHANGHAI,
  prague: SHANGHAI,
  osaka: OSAKA,
  amsterdam: AMSTERDAM,
}
