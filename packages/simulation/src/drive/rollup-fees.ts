import { type Address, type Call, toQuantity, ZERO_ADDRESS } from '@upfront/protocol'
import { mergeOverrides } from '../accounts/merge-overrides.js'
import type { CallRecord } from '../engine/call-record.js'
import type { RollupFees } from '../trace/inspected.js'
import type { Run, Simulation, SimulationAnswer } from './simulate.js'

/** An OP-stack chain's fee vaults: https://specs.optimism.io/protocol/exec-engine.html */
const L1_FEE_VAULT: Address = '0x420000000000000000000000000000000000001a'
const OPERATOR_FEE_VAULT: Address = '0x420000000000000000000000000000000000001b'
/** Enough for any fee, without overflow. */
const RICH = 1n << 128n

/**
 * The fees that each call pays an OP-stack chain in addition to gas, or would pay with a gas price. Found by a run with prices and funded
 * senders, from the fee vaults' balances. Undefined on other chains.
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
    return { ...block, calls, stateOverrides: mergeOverrides(block.stateOverrides, rich) }
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
