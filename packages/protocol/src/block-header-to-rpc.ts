import type { BlockHeader } from './block-header.js'
import { type Hex, toQuantity } from './hex.js'

/** A header as JSON-RPC has it. */
export type RpcHeader = { [Field in keyof BlockHeader]: Hex }

/** A header as geth writes it; fields that its fork lacks are absent. */
export function blockHeaderToRpc(header: BlockHeader): RpcHeader {
  const given = Object.entries(header).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    given.map(([name, value]) => [name, typeof value === 'bigint' ? toQuantity(value) : value]),
  ) as RpcHeader
}
