/** What the ledger and the chain may not agree on. */
export const DIFFERENCES = [
  /** The ledger has a transfer that the chain has not. */
  'missing on chain',
  /** Both know it, with different amounts. */
  'amount differs',
  /** Moved on chain, by an authorization that the ledger says was not charged so. */
  'moved but not settled',
  /** Moved through the upto proxy to a payTo of the ledger, by an authorization that the ledger does not know. */
  'not in ledger',
  /** Moved to a payTo of the ledger by a settlement that is not what it seems; or a block whose transfers the node does not tell. */
  'unexplained',
] as const
