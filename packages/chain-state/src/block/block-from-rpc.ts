import { type Address, type BlockHeader, blockHeaderFromRpc, DecodeError, type Hash, type Hex } from '@upfront/protocol'
import { decodeBytes, decodeFixedBytes, decodeQuantity, malformed } from '../upstream/decode-result.js'
import { UpstreamFault } from '../upstream/upstream-fault.js'

/** Fields of a block under construction may be null until it is sealed. */
export interface PendingBlock {
  number: bigint
  /** Seconds since 1970. */
  timestamp: bigint
  parentHash: Hash
  gasLimit: bigint
  feeRecipient?: Address
  prevRandao?: Hash
  baseFeePerGas?: bigint
  excessBlobGas?: bigint
  parentBeaconBlockRoot?: Hash
  extraData?: Hex
}

/** A sealed block as `eth_getBlockBy…` answers it. @throws UpstreamFault, of kind `null` where there is no block */
export function headerFromRpc(block: unknown): BlockHeader {
  if (block === null) throw malformed('a block', null)
  try {
    return blockHeaderFromRpc(block)
  } catch (error) {
    if (error instanceof DecodeError) throw new UpstreamFault('malformed', error.message)
    throw error
  }
}

/** A block under construction as `eth_getBlockByNumber("pending")` answers it. @throws UpstreamFault */
export function pendingFromRpc(block: unknown): PendingBlock {
  const fields = asBlock(block)
  return {
    number: decodeQuantity(fields.number, 64),
    timestamp: decodeQuantity(fields.timestamp, 64),
    parentHash: decodeFixedBytes(fields.parentHash, 32),
    gasLimit: decodeQuantity(fields.gasLimit, 64),
    ...optional(fields, 'miner', (value) => decodeFixedBytes(value, 20), 'feeRecipient'),
    ...optional(fields, 'mixHash', (value) => decodeFixedBytes(value, 32), 'prevRandao'),
    ...optional(fields, 'baseFeePerGas', decodeQuantity),
    ...optional(fields, 'excessBlobGas', decodeQuantity),
    ...optional(fields, 'parentBeaconBlockRoot', (value) => decodeFixedBytes(value, 32)),
    ...optional(fields, 'extraData', decodeBytes),
  }
}

function asBlock(block: unknown): Record<string, unknown> {
  if (typeof block !== 'object' || block === null || Array.isArray(block)) throw malformed('a block', block)
  return block as Record<string, unknown>
}

function optional<Name extends string, Value>(
  fields: Record<string, unknown>,
  field: Name,
  decode: (value: unknown) => Value,
): { [name in Name]?: Value }
function optional<Name extends string, Value>(
  fields: Record<string, unknown>,
  field: string,
  decode: (value: unknown) => Value,
  name: Name,
): { [name in Name]?: Value }
function optional(
  fields: Record<string, unknown>,
  field: string,
  decode: (value: unknown) => unknown,
  name: string = field,
): Record<string, unknown> {
  const value = fields[field]
  return value === undefined || value === null ? {} : { [name]: decode(value) }
}
