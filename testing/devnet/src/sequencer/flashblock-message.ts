/** A Flashblocks message on the wire, with the field names of Base's and rollup-boost's public streams. */
export interface FlashblockMessage {
  payload_id: string
  index: number
  /** Index 0 only. */
  base?: {
    parent_beacon_block_root: string
    parent_hash: string
    fee_recipient: string
    prev_randao: string
    block_number: string
    gas_limit: string
    timestamp: string
    extra_data: string
    base_fee_per_gas: string
  }
  diff: {
    state_root: string
    /** This and the next two are totals of the block so far. */
    receipts_root: string
    logs_bloom: string
    gas_used: string
    block_hash: string
    /** What this flashblock adds. */
    transactions: string[]
    withdrawals: unknown[]
    withdrawals_root: string
  }
  metadata: { block_number: number }
}
