import { fileURLToPath } from 'node:url'
import {
  type Address,
  type BlockHeader,
  DEFAULT_SIMULATION_LIMITS,
  decodeSimulationRequest,
  ZERO_ADDRESS,
  ZERO_HASH,
} from '@upfront/protocol'
import { planSimulation, type SimulationPlan } from '@upfront/simulation'
import { readGenesis } from './genesis-state.js'

/** The chain of genesis.json as if its first block came in BPO 2's time. */
export const chain = readGenesis(fileURLToPath(new URL('./genesis.json', import.meta.url)))

export const base: BlockHeader = {
  hash: `0x${'11'.repeat(32)}`,
  parentHash: ZERO_HASH,
  sha3Uncles: ZERO_HASH,
  miner: ZERO_ADDRESS,
  stateRoot: ZERO_HASH,
  transactionsRoot: ZERO_HASH,
  receiptsRoot: ZERO_HASH,
  logsBloom: `0x${'00'.repeat(256)}`,
  difficulty: 0n,
  number: 0n,
  gasLimit: 50_000_000n,
  gasUsed: 0n,
  timestamp: 6_500n,
  extraData: '0x',
  mixHash: ZERO_HASH,
  nonce: '0x0000000000000000',
  baseFeePerGas: 10n,
  blobGasUsed: 0n,
  excessBlobGas: 0n,
}

export const state = chain.stateAt(base)

/** Has ether. */
export const RICH: Address = `0xa${'0'.repeat(39)}`
/** Counts its calls in slot 0. */
export const COUNTER: Address = `0xc${'0'.repeat(39)}`
export const NOBODY: Address = `0xe${'0'.repeat(39)}`
/** `for (;;)` */
export const ENDLESS_LOOP = '0x5b5f56'

export function planOf(payload: object): SimulationPlan {
  const request = decodeSimulationRequest([payload, 'latest'], DEFAULT_SIMULATION_LIMITS)
  return planSimulation(request, base, chain.rules, DEFAULT_SIMULATION_LIMITS)
}

/** One block with one call. */
export function callPlan(call: object, stateOverrides: object = {}, flags: object = {}): SimulationPlan {
  return planOf({ blockStateCalls: [{ stateOverrides, calls: [call] }], ...flags })
}

/** A call of `code`. */
export function codePlan(code: string, flags: object = {}): SimulationPlan {
  return callPlan({ from: RICH, to: NOBODY }, { [NOBODY]: { code } }, flags)
}
