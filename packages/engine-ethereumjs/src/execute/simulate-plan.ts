import type { Address } from '@upfront/protocol'
import type { EthereumFork, ExecutedBlock, SimulationOutcome, SimulationPlan, StateValue } from '@upfront/simulation'
import { RecordingEvm } from '../evm/recording-evm.js'
import { SimulationEvm } from '../evm/simulation-evm.js'
import { SteppingEvm } from '../evm/stepping-evm.js'
import type { TimeSlice } from '../evm/time-slice.js'
import { AccessJournal } from '../state/access-journal.js'
import { bytesOf } from '../state/bytes.js'
import { type ReadState, WorldState } from '../state/world-state.js'
import { executeBlock, type GasBudget } from './execute-block.js'
import { TouchedState } from './touched.js'

/** EVMs kept for later simulations, by chain and fork: making one is slow. */
const idleEvms = new Map<string, SimulationEvm[]>()

/**
 * Executes and seals all blocks of a plan, in the calling thread, in slices of time.
 * @param budget what the calls may use; what they used is taken from it
 * @throws SimulationRejected; what `read` rejected with; what the slice was cancelled with
 */
export async function simulatePlan(
  plan: SimulationPlan,
  read: ReadState,
  slice: TimeSlice,
  budget: GasBudget = { left: plan.gasBudget },
): Promise<SimulationOutcome> {
  const world = new WorldState(read)
  const touched = new TouchedState()
  const journal = new AccessJournal(world)
  const blocks: ExecutedBlock[] = []
  const blockHash = ancestorHashes(plan, blocks, read)
  const evms = new Map<EthereumFork, SimulationEvm>()
  let parent = plan.base
  // As hex, two characters a byte.
  let recordBytes = plan.answerBytes / 2
  for (const [index, { rules }] of plan.blocks.entries()) {
    const evm = evms.get(rules.fork) ?? takeEvm(plan, rules.fork)
    evms.set(rules.fork, evm)
    evm.begin(world, journal, touched, slice, blockHash)
    const machine = { evm, world, journal, touched, slice, destroyed: new Set<Address>(), recordBytes }
    const executed = await executeBlock(machine, plan, index, parent, budget)
    recordBytes = machine.recordBytes
    blocks.push(executed)
    parent = executed.header
  }
  // Not kept after a failure: a frame that was cut short leaves an EVM in disorder.
  for (const [fork, evm] of evms) idleFor(plan, fork).push(evm)
  return { blocks, touched: touched.counts(), ...(plan.listTouched && { touchedList: touched.list() }) }
}

function takeEvm(plan: SimulationPlan, fork: EthereumFork): SimulationEvm {
  return idleFor(plan, fork).pop() ?? new (evmClassFor(plan))(plan.rules.chainId, fork)
}

function evmClassFor({ recording }: SimulationPlan): typeof SimulationEvm {
  if (recording.steps || recording.uses) return SteppingEvm
  return recording.frames || recording.state ? RecordingEvm : SimulationEvm
}

function idleFor(plan: SimulationPlan, fork: EthereumFork): SimulationEvm[] {
  const key = `${plan.rules.chainId}:${fork}:${evmClassFor(plan).name}`
  const idle = idleEvms.get(key) ?? []
  idleEvms.set(key, idle)
  return idle
}

/** For BLOCKHASH: hashes of simulated blocks as they were sealed, those of older blocks as they are read. */
function ancestorHashes(plan: SimulationPlan, blocks: readonly ExecutedBlock[], read: ReadState) {
  const { base } = plan
  const known = new Map<bigint, StateValue>([
    [base.number, base.hash],
    [base.number - 1n, base.parentHash],
  ])
  return async (number: bigint): Promise<Uint8Array> => {
    let hash = number > base.number ? blocks[Number(number - base.number - 1n)]?.header.hash : known.get(number)
    if (hash === undefined) {
      const [value] = await read([{ kind: 'blockHash', number }])
      hash = value ?? 0n
      known.set(number, hash)
    }
    return bytesOf(typeof hash === 'string' ? hash : '0x')
  }
}
