import type { CallLimits, UpstreamClient } from '@upfront/node'
import { UpstreamError } from '@upfront/node'
import { type BlockHeader, toQuantity } from '@upfront/protocol'

const TRANSACTION_BYTES = 1024 * 1024

/** `setL1BlockValuesJovian()`; its last two bytes are the scalar. */
const JOVIAN_ATTRIBUTES = /^0x3db6be2b(?:[0-9a-f]{2})*([0-9a-f]{4})$/

/**
 * The DA footprint scalar that an OP-stack block's attributes deposit set (https://specs.optimism.io/protocol/jovian/exec-engine.html).
 * Works on nodes that have pruned the block's state. Undefined if the node does not serve the transaction, or it is no such deposit.
 * @throws UpstreamError, or the signal's reason
 */
export async function daFootprintScalar(
  client: UpstreamClient,
  header: BlockHeader,
  limits: CallLimits,
): Promise<bigint | undefined> {
  try {
    return await client.call(
      {
        method: 'eth_getTransactionByBlockNumberAndIndex',
        params: [toQuantity(header.number), '0x0'],
        maxBytes: TRANSACTION_BYTES,
        decode: (transaction) => scalarIn(transaction, header),
      },
      limits,
    )
  } catch (error) {
    if (error instanceof UpstreamError && error.fault.detail.rpc !== undefined) return undefined
    throw error
  }
}

function scalarIn(transaction: unknown, header: BlockHeader): bigint | undefined {
  if (typeof transaction !== 'object' || transaction === null) return undefined
  const { blockHash, input } = transaction as Record<string, unknown>
  if (blockHash !== header.hash || typeof input !== 'string') return undefined
  const scalar = JOVIAN_ATTRIBUTES.exec(input)?.[1]
  return scalar === undefined ? undefined : BigInt(`0x${scalar}`)
}
