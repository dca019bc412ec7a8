import { decodeFixedBytes, decodeQuantity, malformed, UpstreamFault } from '@upfront/node'
import { type BlockHeader, blockHeaderFromRpc, DecodeError, type Hash } from '@upfront/protocol'
import type { OpeningBlock } from './pinned-block.js'

/** A node's own block under construction. */
export interface NodePendingBlock {
  number: bigint
  parentHash: Hash
  /** Fields that the node gives; some nodes answer null for those that are known only when the block is sealed. */
  environment: OpeningBlock
}

/** A sealed block as `eth_getBlockBy…` answers it. @throws UpstreamFault, of kind `null` where there is no block */
export function headerFromRpc(block: unknown): BlockHeader {
  if (block === null) throw malformed('a block', null)
  try {
    return blockHeaderFromRpc(block)
  } catch (error) {
    if (error instanceof DecodeError) throw new UpstreamFault('malformed', `expected a block: ${error.place} is wrong`)
    throw error
  }
}

/** A block under construction as `eth_getBlockByNumber("pending")` answers it. @throws UpstreamFault */
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
