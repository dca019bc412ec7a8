import type { UpstreamCall } from '@upfront/node'
import type { BlockHeader, Hash } from '@upfront/protocol'
import { headerFromRpc } from '@upfront/simulation'
import type { HeaderCheck } from './header-check.js'

const BLOCK_BYTES = 8 * 1024 * 1024

/**
 * The call that asks for a block's header. A node that does not have the block fails it with a fault of kind `null`.
 * @param at a tag or a number, as JSON-RPC has it, or a hash
 * @param check refuses a header whose hash is not that of its fields
 */
export function blockCall(at: string | { hash: Hash }, check?: HeaderCheck): UpstreamCall<BlockHeader> {
  const byHash = typeof at !== 'string'
  return {
    method: byHash ? 'eth_getBlockByHash' : 'eth_getBlockByNumber',
    params: [byHash ? at.hash : at, false],
    decode: (block) => {
      const header = headerFromRpc(block)
      return check === undefined ? header : check.checked(header, block)
    },
    maxBytes: BLOCK_BYTES,
  }
}
