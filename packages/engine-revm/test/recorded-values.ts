import type { RecordedBlock } from '@upfront/devnet'
import { ZERO_HASH } from '@upfront/protocol'
import type { StateRead, StateValue } from '@upfront/simulation'

/** The value of each read in a recorded block's witness. */
export function recordedValues({ state, blockHashes }: Pick<RecordedBlock, 'state' | 'blockHashes'>) {
  return (read: StateRead): StateValue => {
    switch (read.kind) {
      case 'balance':
      case 'nonce':
        return BigInt(state[read.kind](read.address))
      case 'code':
        return state.code(read.address)
      case 'storage':
        return state.storage(read.address, read.slot)
      case 'blockHash':
        return blockHashes[String(read.number)] ?? ZERO_HASH
    }
  }
}
