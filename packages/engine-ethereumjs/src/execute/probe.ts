import { createAddressFromString } from '@ethereumjs/util'
import { type Hex, ZERO_ADDRESS } from '@upfront/protocol'
import type { Probe } from '@upfront/simulation'
import { RecordingEvm } from '../evm/recording-evm.js'
import { bytesOf, hexOf } from '../state/bytes.js'
import { warmDelegate, warmUp } from './apply-call.js'
import type { BlockContext } from './block-context.js'
import type { Machine } from './machine.js'

/** What one probe may use. */
const PROBE_GAS = 500_000n
/** Longer answers are none. */
const MOST_BYTES = 1_024

/** What one round of questions came to. */
interface Answers {
  /** In the order of the probes; undefined where a contract fails. */
  answers: (Hex | undefined)[]
  /** Of all together, before refunds. */
  gasUsed: bigint
}

/** Asks contracts between two calls. What answering changes is dropped. */
export async function ask(machine: Machine, context: BlockContext, probes: readonly Probe[]): Promise<Answers> {
  const round: Answers = { answers: [], gasUsed: 0n }
  for (const probe of probes) {
    const { answer, gasUsed } = await machine.evm.logs.apart(() => answerTo(machine, context, probe))
    round.answers.push(answer)
    round.gasUsed += gasUsed
  }
  return round
}

async function answerTo(
  machine: Machine,
  context: BlockContext,
  { to, input }: Probe,
): Promise<{ answer: Hex | undefined; gasUsed: bigint }> {
  const { evm, world, journal } = machine
  const recorder = evm instanceof RecordingEvm ? evm.recorder : undefined
  if (evm instanceof RecordingEvm) evm.recorder = undefined
  warmUp(machine, context, { from: ZERO_ADDRESS, to, accessList: [] })
  await warmDelegate(machine, to)
  await journal.checkpoint()
  const { execResult } = await evm.runCall({
    block: context.evmBlock,
    caller: createAddressFromString(ZERO_ADDRESS),
    to: createAddressFromString(to),
    gasLimit: PROBE_GAS,
    gasPrice: 0n,
    data: bytesOf(input),
    skipNonceIncrement: true,
  })
  await journal.revert()
  world.finalise()
  if (evm instanceof RecordingEvm) evm.recorder = recorder
  const { returnValue, exceptionError, executionGasUsed } = execResult
  const answer = exceptionError || returnValue.length > MOST_BYTES ? undefined : hexOf(returnValue)
  return { answer, gasUsed: executionGasUsed }
}
