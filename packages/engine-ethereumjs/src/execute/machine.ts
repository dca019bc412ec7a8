import type { Address } from '@upfront/protocol'
import type { SimulationEvm } from '../evm/simulation-evm.js'
import type { TimeSlice } from '../evm/time-slice.js'
import type { AccessJournal } from '../state/access-journal.js'
import type { WorldState } from '../state/world-state.js'
import type { TouchedState } from './touched.js'

/** What a simulation runs on. */
export interface Machine {
  evm: SimulationEvm
  world: WorldState
  journal: AccessJournal
  touched: TouchedState
  slice: TimeSlice
  /** Accounts that self-destructed in the running transaction: removed at its end. */
  destroyed: Set<Address>
  /** Where the plan has calls recorded: of what a record may still take, bytes. */
  recordBytes: number
}
