import type { BlockHeader } from './block-header.js'
import { type Hex, toQuantity } from './hex.js'

/** A header as encoded in JSON-RPC. */
export type RpcHeader = { [Field in keyof BlockHeader]: Hex }

/** Encodes a header as geth does; fields that its fork lacks are absent. */
export function blockHeaderToRpc(header: BlockHeader): RpcHeader {
  const given = Object.entries(header).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    given.map(([name, value]) => [name, typeof value === 'bigint' ? toQuantity(value) : value]),
  ) as RpcHeader
}
