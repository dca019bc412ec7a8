import {
  formatTransaction,
  type Hex,
  numberToHex,
  type RpcTransaction,
  serializeTransaction,
  type TransactionSerializable,
} from 'viem'
import { serializeTransaction as serializeOpTransaction } from 'viem/op-stack'
import type { FlashblockMessage } from './flashblock-message.js'

/** A block with full transactions, as the node returns it. */
export interface NodeBlock {
  hash: string
  parentHash: string
  miner: string
  mixHash: string
  number: string
  gasLimit: string
  gasUsed: string
  timestamp: string
  extraData: string
  baseFeePerGas: string
  receiptsRoot: string
  logsBloom: string
  parentBeaconBlockRoot?: string
  withdrawalsRoot?: string
  transactions: NodeTransaction[]
}

export interface NodeTransaction {
  hash: string
  type: string
  [field: string]: unknown
}

/** A deposit without value. @param sequence distinguishes it from earlier ones of the same sender */
export function rawDeposit(
  from: string | undefined,
  to: string,
  sequence: bigint,
  gas: string,
  input: Hex = '0x',
): Hex {
  const sourceHash = numberToHex(sequence, { size: 32 })
  return rawTransaction({ type: '0x7e', hash: '0x', sourceHash, from, to, gas, input, value: '0x0', mint: '0x0' })
}

/** The EIP-2718 encoding of a transaction, rebuilt from its fields. */
export function rawTransaction(transaction: NodeTransaction): Hex {
  if (transaction.type === '0x7e') {
    return serializeOpTransaction({
      type: 'deposit',
      sourceHash: transaction.sourceHash as Hex,
      from: transaction.from as Hex,
      to: transaction.to as Hex,
      mint: BigInt(transaction.mint as string),
      value: BigInt(transaction.value as string),
      gas: BigInt(transaction.gas as string),
      data: transaction.input as Hex,
      isSystemTx: false,
    })
  }
  const { r, s, v, yParity, input, typeHex, ...fields } = formatTransaction(transaction as unknown as RpcTransaction)
  const unsigned = { ...fields, data: input } as unknown as TransactionSerializable
  return serializeTransaction(unsigned, { r, s, ...(yParity === undefined ? { v } : { v, yParity }) } as never)
}

const ZERO_HASH = `0x${'0'.repeat(64)}`
const NO_BLOOM = `0x${'0'.repeat(512)}`

/** What a flashblock adds to a block; index 0 contains its environment. @param claims totals of the block so far, default zero */
export function flashblockOf(
  payloadId: string,
  index: number,
  block: NodeBlock,
  added: readonly NodeTransaction[],
  claims: Partial<FlashblockMessage['diff']>,
): FlashblockMessage {
  return {
    payload_id: payloadId,
    index,
    ...(index === 0 && { base: baseOf(block) }),
    diff: {
      state_root: ZERO_HASH,
      receipts_root: ZERO_HASH,
      logs_bloom: NO_BLOOM,
      gas_used: '0x0',
      block_hash: ZERO_HASH,
      ...claims,
      transactions: added.map(rawTransaction),
      withdrawals: [],
      withdrawals_root: block.withdrawalsRoot ?? ZERO_HASH,
    },
    metadata: { block_number: Number(block.number) },
  }
}

function baseOf(block: NodeBlock): NonNullable<FlashblockMessage['base']> {
  return {
    parent_beacon_block_root: block.parentBeaconBlockRoot ?? ZERO_HASH,
    parent_hash: block.parentHash,
    fee_recipient: block.miner,
    prev_randao: block.mixHash,
    block_number: block.number,
    gas_limit: block.gasLimit,
    timestamp: block.timestamp,
    extra_data: block.extraData,
    base_fee_per_gas: block.baseFeePerGas,
  }
}
