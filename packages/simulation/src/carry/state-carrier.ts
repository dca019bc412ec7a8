import type { Hash } from '@upfront/protocol'
import type { Driver } from '../drive/driver.js'
import type { BlockCarrier } from '../engine/block-carrier.js'
import type { ExecutedReceipt } from '../engine/preconfirmation-executor.js'
import type { StateLayer } from '../engine/state.js'
import type { ChainRules } from '../plan/chain-rules.js'
import type { CarryEvent } from './carry-event.js'
import type { SealedBlock } from './sealed-block.js'

export interface StateCarrierOptions {
  rules: ChainRules
  engine: BlockCarrier
  driver: Pick<Driver, 'run' | 'readAtNode'>
  /** Milliseconds between the chain's blocks, as learnt. */
  intervalMs: () => number
  /** What was executed of this block before it was sealed (Flashblocks). */
  executed?: (block: SealedBlock, transactions: readonly Hash[]) => ExecutedPart | undefined
  observe: (event: CarryEvent) => void
}

/** The first transactions of a block, executed on its parent's state with its opening system calls. */
export interface ExecutedPart {
  layers: readonly StateLayer[]
  receipts: readonly ExecutedReceipt[]
}
