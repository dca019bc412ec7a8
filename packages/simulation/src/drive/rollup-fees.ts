import { type Address, type Call, toQuantity, ZERO_ADDRESS } from '@upfront/protocol'
import { mergedOverrides } from '../accounts/merged-overrides.js'
import type { CallRecord } from '../engine/call-record.js'
import type { RollupFees } from '../trace/inspected.js'
import type { Run, Simulation, SimulationAnswer } from './simulate.js'

/** Where an OP-stack chain's fees go: https://specs.optimism.io/protocol/exec-engine.html */
const L1_FEE_VAULT: Address = '0x420000000000000000000000000000000000001a'
const OPERATOR_FEE_VAULT: Address = '0x420000000000000000000000000000000000001b'
/** Enough for any fee, and far from overflowing. */
const RICH = 1n << 128n

/**
 * What each call pays to an OP-stack chain beside gas, or would if it named a price: by a run in which all calls do, and senders have enough,
 * that shows what the fee vaults get. Undefined on other chains.
 * @throws or rejects with what `run` does
 */
export async function rollupFees(
  simulation: Simulation,
  run: Run,
): Promise<{ fees: RollupFees[]; answer: SimulationAnswer } | undefined> {
  const { request, rules } = simulation
  if (rules.stack !== 'optimism') return undefined
  const blockStateCalls = request.blockStateCalls.map((block) => {
    const price = block.blockOverrides.baseFeePerGas || 1n
    const calls = block.calls.map((call) => (isPriced(call) ? call : { ...call, gasPrice: price }))
    const rich = calls.map(({ from = ZERO_ADDRESS }) => ({ address: from, balance: RICH }))
    return { ...block, calls, stateOverrides: mergedOverrides(block.stateOverrides, rich) }
  })
  const answer = await run({
    ...simulation,
    request: { ...request, blockStateCalls },
    recording: { frames: true, state: true },
  })
  return { fees: answer.records.map(feesIn), answer }
}

function isPriced({ gasPrice, maxFeePerGas, maxPriorityFeePerGas }: Call): boolean {
  return Boolean(gasPrice || maxFeePerGas || maxPriorityFeePerGas)
}

function feesIn({ accounts }: CallRecord): RollupFees {
  const got = (vault: Address) => {
    const account = accounts.find(({ address }) => address === vault)
    return toQuantity(account === undefined ? 0n : account.after.balance - account.before.balance)
  }
  return { l1Fee: got(L1_FEE_VAULT), operatorFee: got(OPERATOR_FEE_VAULT), isEstimate: true }
}
