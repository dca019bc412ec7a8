import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  type Address,
  type BlockHeader,
  blockHeaderFromRpc,
  DEFAULT_SIMULATION_LIMITS,
  decodeSimulationRequest,
} from '@upfront/protocol'
import { chainRulesFromGenesis, planSimulation, type SimulationPlan, type StatePoint } from '@upfront/simulation'
import type { BaseState } from './answer.js'
import { StateValues, valueOfAccounts } from './state-values.js'

/** A chain with every fork from Paris to BPO 2, a thousand seconds apart. */
export const GENESIS_FILE = fileURLToPath(new URL('../genesis.json', import.meta.url))

const genesis = JSON.parse(readFileSync(GENESIS_FILE, 'utf8'))
const genesisBlock = JSON.parse(readFileSync(new URL('../genesis-block.json', import.meta.url), 'utf8'))

export const developmentRules = chainRulesFromGenesis(genesis)

export interface DevelopmentState extends BaseState {
  state: StateValues
}

/** The genesis block and its state; a new one per caller, so that each counts its own reads. */
export function developmentState(base: BlockHeader = blockHeaderFromRpc(genesisBlock)): DevelopmentState {
  return { rules: developmentRules, base, state: new StateValues(valueOfAccounts(genesis.alloc)) }
}

/** The base block of test plans: the genesis block with a timestamp in BPO 2. */
export const developmentBase: BlockHeader = {
  ...blockHeaderFromRpc(genesisBlock),
  hash: `0x${'11'.repeat(32)}`,
  timestamp: 6_500n,
  baseFeePerGas: 10n,
  blobGasUsed: 0n,
  excessBlobGas: 0n,
}

/** The state of `developmentBase`. */
export const developmentPoint: StatePoint = { key: developmentBase.hash, layers: [] }

/** An account with ether. */
export const RICH: Address = `0xa${'0'.repeat(39)}`
/** Counts its calls in slot 0. */
export const COUNTER: Address = `0xc${'0'.repeat(39)}`
export const NOBODY: Address = `0xe${'0'.repeat(39)}`
/** The code of `for (;;)`. */
export const ENDLESS_LOOP = '0x5b5f56'

export function planOf(payload: object): SimulationPlan {
  const request = decodeSimulationRequest([payload, 'latest'], DEFAULT_SIMULATION_LIMITS)
  return planSimulation(request, developmentBase, developmentRules, DEFAULT_SIMULATION_LIMITS)
}

/** A plan of one block with one call. */
export function callPlan(call: object, stateOverrides: object = {}, flags: object = {}): SimulationPlan {
  return planOf({ blockStateCalls: [{ stateOverrides, calls: [call] }], ...flags })
}

/** A plan with one call of `code`. */
export function codePlan(code: string, flags: object = {}): SimulationPlan {
  return callPlan({ from: RICH, to: NOBODY }, { [NOBODY]: { code } }, flags)
}

/** The plan without gas limits. */
export function withoutGasLimit(plan: SimulationPlan): SimulationPlan {
  const blocks = plan.blocks.map((block) => ({ ...block, gasLimit: 2n ** 62n }))
  return { ...plan, blocks, gasBudget: 2n ** 62n }
}
