import type { Address } from '@upfront/protocol'
import type { EthereumFork, ExecutedBlock, SimulationOutcome, SimulationPlan, StateValue } from '@upfront/simulation'
import { SimulationEvm } from '../evm/simulation-evm.js'
import { AccessJournal } from '../state/access-journal.js'
import { bytesOf } from '../state/bytes.js'
import { type ReadState, WorldState } from '../state/world-state.js'
import { executeBlock, type GasBudget } from './execute-block.js'
import { TouchedState } from './touched.js'

/** Kept from one simulation to the next: making one takes a millisecond. */
const evms = new Map<string, SimulationEvm>()

/**
 * Executes and seals all blocks of a plan, in the calling thread.
 * @throws SimulationRejected; what `read` rejected with
 */
export async function simulatePlan(plan: SimulationPlan, read: ReadState): Promise<SimulationOutcome> {
  const world = new WorldState(read)
  const touched = new TouchedState()
  const journal = new AccessJournal(world, touched)
  const blocks: ExecutedBlock[] = []
  const budget: GasBudget = { left: plan.gasBudget }
  const blockHash = ancestorHashes(plan, blocks, read)
  let parent = plan.base
  try {
    for (const [index, { rules }] of plan.blocks.entries()) {
      const evm = evmFor(plan.rules.chainId, rules.fork)
      evm.begin(world, journal, blockHash)
      const machine = { evm, world, journal, touched, destroyed: new Set<Address>() }
      const executed = await executeBlock(machine, plan, index, parent, budget)
      blocks.push(executed)
      parent = executed.header
    }
  } catch (error) {
    // A frame that was left half way leaves its marks in the machine.
    evms.clear()
    throw error
  }
  return { blocks, touched: touched.counts() }
}

function evmFor(chainId: bigint, fork: EthereumFork): SimulationEvm {
  const key = `${chainId}:${fork}`
  const evm = evms.get(key) ?? new SimulationEvm(chainId, fork)
  evms.set(key, evm)
  return evm
}

/** BLOCKHASH: simulated blocks by what they were sealed as, real ones below the base by what the state source says. */
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
