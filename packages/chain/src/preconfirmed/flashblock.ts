import { promisify } from 'node:util'
import { brotliDecompress, constants } from 'node:zlib'
import { hasTooManyValues } from '@upfront/node'
import {
  type Address,
  decodeInteger,
  decodeList,
  decodeObject,
  decodeSecret,
  type Hash,
  type Hex,
  invalidField,
  type Withdrawal,
} from '@upfront/protocol'

/** Ethereum's most in a block. */
const MAX_WITHDRAWALS = 16
/** Ethereum's most is 32. */
const MAX_EXTRA_DATA = 256

/** A decoded message of a Flashblocks stream: what it adds to the block under construction, and the totals of the block so far. */
export interface Flashblock {
  /** 8 bytes, one per attempt at a block. */
  payloadId: Hex
  /** Starts at 0; only index 0 carries `base`. */
  index: number
  blockNumber: bigint
  base?: FlashblockBase
  /** EIP-2718 encodings of the transactions that this flashblock adds. */
  transactions: Hex[]
  withdrawals: Withdrawal[]
  /** The sequencer's hash of the block so far. Not the final one if `state_root` is omitted. */
  blockHash: Hash
  /** Total of the block so far, like `receiptsRoot` and `logsBloom`. */
  gasUsed: bigint
  receiptsRoot: Hash
  logsBloom: Hex
  /** Storage root of the message passer, from Isthmus on. Absent if the builder sends none. */
  withdrawalsRoot?: Hash
}

/** The environment of the block under construction. */
export interface FlashblockBase {
  parentHash: Hash
  parentBeaconBlockRoot: Hash
  feeRecipient: Address
  prevRandao: Hash
  gasLimit: bigint
  /** Unix time, seconds. */
  timestamp: bigint
  extraData: Hex
  baseFeePerGas: bigint
}

/**
 * Decodes the JSON of one message. Unknown fields are ignored, because builders add their own.
 * @throws DecodeError, which names the field and does not quote the message
 */
export function flashblockFromJson(text: string): Flashblock {
  if (hasTooManyValues(text)) throw invalidField('', 'too many values')
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw invalidField('', 'not JSON')
  }
  const message = decodeObject(parsed, 'message')
  const diff = decodeObject(message.diff, 'diff')
  const metadata = decodeObject(message.metadata, 'metadata')
  const index = decodeInteger(message.index, 'index', 0, 0xffff)
  const blockNumber = plainNumber(metadata.block_number, 'metadata.block_number')
  const flashblock: Flashblock = {
    payloadId: bytes(message.payload_id, 'payload_id', 8),
    index,
    blockNumber,
    transactions: decodeList(diff.transactions, 'diff.transactions').map((raw, i) =>
      bytes(raw, `diff.transactions[${i}]`),
    ),
    withdrawals: atMost(MAX_WITHDRAWALS, decodeList(diff.withdrawals ?? [], 'diff.withdrawals')).map(withdrawal),
    blockHash: bytes(diff.block_hash, 'diff.block_hash', 32),
    gasUsed: quantity(diff.gas_used, 'diff.gas_used'),
    receiptsRoot: bytes(diff.receipts_root, 'diff.receipts_root', 32),
    logsBloom: bytes(diff.logs_bloom, 'diff.logs_bloom', 256),
  }
  const root = diff.withdrawals_root
  if (root !== undefined && root !== null) flashblock.withdrawalsRoot = bytes(root, 'diff.withdrawals_root', 32)
  if (index > 0) return flashblock
  const base = decodeObject(message.base, 'base')
  const baseNumber = quantity(base.block_number, 'base.block_number')
  if (baseNumber !== blockNumber)
    throw invalidField('base.block_number', `${baseNumber} is not metadata.block_number, ${blockNumber}`)
  flashblock.base = {
    parentHash: bytes(base.parent_hash, 'base.parent_hash', 32),
    parentBeaconBlockRoot: bytes(base.parent_beacon_block_root, 'base.parent_beacon_block_root', 32),
    feeRecipient: bytes(base.fee_recipient, 'base.fee_recipient', 20),
    prevRandao: bytes(base.prev_randao, 'base.prev_randao', 32),
    gasLimit: quantity(base.gas_limit, 'base.gas_limit'),
    timestamp: quantity(base.timestamp, 'base.timestamp'),
    extraData: bytes(base.extra_data, 'base.extra_data', { most: MAX_EXTRA_DATA }),
    baseFeePerGas: quantity(base.base_fee_per_gas, 'base.base_fee_per_gas'),
  }
  return flashblock
}

function atMost(most: number, withdrawals: unknown[]): unknown[] {
  if (withdrawals.length > most) throw invalidField('diff.withdrawals', `expected at most ${most}`)
  return withdrawals
}

function withdrawal(value: unknown, i: number): Withdrawal {
  const at = `diff.withdrawals[${i}]`
  const entry = decodeObject(value, at)
  return {
    index: quantity(entry.index, `${at}.index`),
    validatorIndex: quantity(entry.validatorIndex ?? entry.validator_index, `${at}.validatorIndex`),
    address: bytes(entry.address, `${at}.address`, 20),
    amount: quantity(entry.amount, `${at}.amount`),
  }
}

/** @param length the bytes expected: exactly so many, or at most */
function bytes(value: unknown, at: string, length?: number | { most: number }): Hex {
  const hex = decodeSecret(value, /^0x[0-9a-fA-F]*$/, at, 'hex bytes').toLowerCase() as Hex
  if (hex.length % 2 !== 0) throw invalidField(at, 'expected hex bytes')
  const got = hex.length / 2 - 1
  if (typeof length === 'number' && got !== length) throw invalidField(at, `expected ${length} bytes, got ${got}`)
  if (typeof length === 'object' && got > length.most)
    throw invalidField(at, `expected at most ${length.most} bytes, got ${got}`)
  return hex
}

function quantity(value: unknown, at: string): bigint {
  return BigInt(decodeSecret(value, /^0x[0-9a-fA-F]{1,64}$/, at, 'a hex quantity'))
}

/** The only field that builders write as a plain number; hex is accepted too. */
function plainNumber(value: unknown, at: string): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  return quantity(value, at)
}

const decompress = promisify(brotliDecompress)
const OPENING_BRACE = 0x7b

/**
 * Decodes one WebSocket frame: JSON if it starts with `{`, otherwise brotli-compressed JSON.
 * @param maxBytes bound on the JSON text, so that a small frame can't expand to gigabytes
 * @throws DecodeError
 */
export async function decodeFrame(frame: Uint8Array, maxBytes: number): Promise<Flashblock> {
  if (frame[0] === OPENING_BRACE) {
    if (frame.byteLength > maxBytes) throw invalidField('', `message over ${maxBytes} bytes`)
    return flashblockFromJson(Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString('utf8'))
  }
  const text = await decompress(frame, {
    maxOutputLength: maxBytes,
    params: { [constants.BROTLI_DECODER_PARAM_LARGE_WINDOW]: 0 },
  }).catch((error: NodeJS.ErrnoException) => {
    throw invalidField(
      '',
      error.code === 'ERR_BUFFER_TOO_LARGE' ? `message over ${maxBytes} bytes` : 'neither JSON nor brotli',
    )
  })
  return flashblockFromJson(text.toString('utf8'))
}
