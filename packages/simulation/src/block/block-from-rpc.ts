import { decodeFixedBytes, decodeQuantity, malformed, UpstreamFault } from '@upfront/node'
import { type BlockHeader, blockHeaderFromRpc, DecodeError, type Hash } from '@upfront/protocol'
import type { OpeningBlock } from './pinned-block.js'

/** The node's own pending block. */
export interface NodePendingBlock {
  number: bigint
  parentHash: Hash
  /** Some nodes return null for fields that are known only after sealing. */
  environment: OpeningBlock
}

/** Decodes a sealed block from `eth_getBlockBy…`. @throws UpstreamFault, of kind `null` if there is no such block */
export function headerFromRpc(block: unknown): BlockHeader {
  if (block === null) throw malformed('a block', null)
  try {
    return blockHeaderFromRpc(block)
  } catch (error) {
    if (error instanceof DecodeError) throw new UpstreamFault('malformed', `expected a block: ${error.place} is wrong`)
    throw error
  }
}

/** Decodes the block from `eth_getBlockByNumber("pending")`. @throws UpstreamFault */
export function pendingFromRpc(block: unknown): NodePendingBlock {
  const fields = asBlock(block)
  const bytes = (length: number) => (value: unknown) => decodeFixedBytes(value, length)
  return {
    number: decodeQuantity(fields.number, 64),
    parentHash: decodeFixedBytes(fields.parentHash, 32),
    environment: {
      timestamp: decodeQuantity(fields.timestamp, 64),
      gasLimit: decodeQuantity(fields.gasLimit, 64),
      ...optional('feeRecipient', fields.miner, bytes(20)),
      ...optional('prevRandao', fields.mixHash, bytes(32)),
      ...optional('beaconRoot', fields.parentBeaconBlockRoot, bytes(32)),
    },
  }
}

function asBlock(block: unknown): Record<string, unknown> {
  if (typeof block !== 'object' || block === null || Array.isArray(block)) throw malformed('a block', block)
  return block as Record<string, unknown>
}

function optional<Name extends string, Value>(
  name: Name,
  value: unknown,
  decode: (value: unknown) => Value,
): { [name in Name]?: Value } {
  return value === undefined || value === null ? {} : ({ [name]: decode(value) } as { [name in Name]?: Value })
}
