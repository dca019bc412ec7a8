import {
  type Address,
  type BlockStateCall,
  type Hex,
  type SimulatedBlock,
  toQuantity,
  ZERO_ADDRESS,
} from '@upfront/protocol'
import { mergeOverrides } from '../accounts/merge-overrides.js'
import { type CallRecord, hasFailed } from '../engine/call-record.js'
import { guardBounds } from '../guard/guard-bounds.js'
import { GUARD_CODE } from '../guard/guard-code.js'
import { guardCalls, OUTCOME_GUARD } from '../guard/guard-contract.js'
import { NO_RECORDING } from '../plan/recording.js'
import type { ShownGuard } from '../trace/shown-guard.js'
import type { Run, Simulation } from './simulate.js'

/** Intrinsic gas of a transaction. */
const TRANSACTION_GAS = 21_000n

/**
 * The OutcomeGuard calls that hold each call on chain to its shown outcome, with their gas; undefined if it failed or has no sender.
 * @param records with frames
 * @returns in the order of the calls, with the gas used for measuring
 * @throws or rejects with what `run` does
 */
export async function createGuards(
  simulation: Simulation,
  records: readonly CallRecord[],
  run: Run,
): Promise<{ guards: (ShownGuard | undefined)[]; gas: bigint }> {
  const { blockStateCalls } = simulation.request
  const before = blockStateCalls.flatMap((block, index) => block.calls.map(() => blockStateCalls.slice(0, index + 1)))
  let gas = 0n
  const measured = async (account: Address, open: Hex, close: Hex, blocks: readonly BlockStateCall[]) => {
    const once = async (withCode: boolean) => {
      const [first, ...rest] = blocks.map((block) => ({ ...block, calls: [] as BlockStateCall['calls'] }))
      const codes = [
        { address: account, code: batchCode([open, close]) },
        ...(withCode ? [{ address: OUTCOME_GUARD, code: GUARD_CODE }] : []),
      ]
      const asked = [{ ...first!, stateOverrides: mergeOverrides(first!.stateOverrides, codes) }, ...rest]
      asked.at(-1)!.calls = [{ from: account, to: account }]
      const request = { ...simulation.request, validation: false, blockStateCalls: asked }
      const answer = await run({ ...simulation, request, recording: NO_RECORDING })
      gas += answer.gasUsed
      const [call] = (JSON.parse(answer.json.toString()) as SimulatedBlock[]).at(-1)!.calls
      return { gas: BigInt(call!.gasUsed), isDeployed: BigInt(call!.returnData === '0x' ? 0 : call!.returnData) !== 0n }
    }
    const real = await once(false)
    const { gas: used } = real.isDeployed ? real : await once(true)
    return { isDeployed: real.isDeployed, gas: used - TRANSACTION_GAS + gasOfBytes(open) + gasOfBytes(close) }
  }
  const guards: (ShownGuard | undefined)[] = []
  for (const [at, record] of records.entries()) {
    const [top] = record.frames
    if (top === undefined || top.from === ZERO_ADDRESS || hasFailed(top)) {
      guards.push(undefined)
      continue
    }
    const bounds = guardBounds(record)
    const { open, close } = guardCalls(bounds)
    const { isDeployed, gas: taken } = await measured(top.from, open, close, before[at]!)
    guards.push({
      contract: OUTCOME_GUARD,
      isDeployed,
      before: { to: OUTCOME_GUARD, data: open },
      after: { to: OUTCOME_GUARD, data: close },
      bounds: bounds.map(({ token, spender, least }) => ({
        ...(token !== ZERO_ADDRESS && { token }),
        ...(spender === ZERO_ADDRESS
          ? { least: least < 0n ? `-${toQuantity(-least)}` : toQuantity(least) }
          : { spender, most: toQuantity(least) }),
      })),
      gas: toQuantity(taken),
    })
  }
  return { guards, gas }
}

/** Code that makes these calls to the guard in sequence and returns the guard's code size. */
function batchCode(inputs: readonly Hex[]): Hex {
  const push = (value: number) => `62${value.toString(16).padStart(6, '0')}`
  const guard = `73${OUTCOME_GUARD.slice(2)}`
  const sizes = inputs.map((input) => (input.length - 2) / 2)
  // CODECOPY the calldata to memory 0, CALL, POP the result.
  const call = (size: number, from: number) => `${push(size)}${push(from)}5f395f5f${push(size)}5f5f${guard}5af150`
  // EXTCODESIZE, MSTORE, RETURN.
  const end = `${guard}3b5f5260205ff3`
  const codeSize = (inputs.length * call(0, 0).length + end.length) / 2
  const calls = sizes.map((size, at) =>
    call(
      size,
      sizes.slice(0, at).reduce((sum, one) => sum + one, codeSize),
    ),
  )
  return `0x${calls.join('')}${end}${inputs.map((input) => input.slice(2)).join('')}`
}

/** Calldata gas (EIP-2028). */
function gasOfBytes(data: Hex): bigint {
  const bytes = data.slice(2).match(/../g) ?? []
  return bytes.reduce((gas, byte) => gas + (byte === '00' ? 4n : 16n), 0n)
}
