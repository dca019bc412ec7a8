const bytes = (length: number, fill: string) => `0x${fill.repeat(length)}`

/** A number as a hash, for blocks that tests distinguish by number. */
export function hashOf(number: number, fork = 0): `0x${string}` {
  return `0x${fork.toString(16).padStart(32, '0')}${number.toString(16).padStart(32, '0')}`
}

/** A flashblock as on the wire. The parent defaults to `hashOf(number - 1)`. */
export function flashblockMessage(options: {
  number: number
  index: number
  payloadId?: string
  parentHash?: string
  transactions?: string[]
  gasUsed?: number
}) {
  const { number, index, payloadId = bytes(8, '01'), parentHash = hashOf(number - 1), transactions = [] } = options
  return {
    payload_id: payloadId,
    index,
    ...(index === 0 && {
      base: {
        parent_beacon_block_root: bytes(32, '00'),
        parent_hash: parentHash,
        fee_recipient: bytes(20, '00'),
        prev_randao: bytes(32, '00'),
        block_number: `0x${number.toString(16)}`,
        gas_limit: '0x1c9c380',
        timestamp: `0x${number.toString(16)}`,
        extra_data: '0x',
        base_fee_per_gas: '0x7',
      },
    }),
    diff: {
      state_root: bytes(32, '00'),
      receipts_root: bytes(32, '00'),
      logs_bloom: bytes(256, '00'),
      gas_used: `0x${(options.gasUsed ?? 0).toString(16)}`,
      block_hash: bytes(32, '00'),
      transactions,
      withdrawals: [],
      withdrawals_root: bytes(32, '00'),
    },
    metadata: { block_number: number },
  }
}
