import { createAddressFromString } from '@ethereumjs/util'
import { type Hex, ZERO_ADDRESS } from '@upfront/protocol'
import type { Probe } from '@upfront/simulation'
import { RecordingEvm } from '../evm/recording-evm.js'
import { bytesOf, hexOf } from '../state/bytes.js'
import type { BlockContext } from './block-context.js'
import type { Machine } from './machine.js'

/** What one probe may use. */
const PROBE_GAS = 500_000n
/** Longer answers are none. */
const MOST_BYTES = 1_024

/**
 * Asks contracts between two calls. Answers in the order of the probes, undefined where a contract fails; what answering changes is
 * dropped.
 */
export async function ask(
  machine: Machine,
  context: BlockContext,
  probes: readonly Probe[],
): Promise<(Hex | undefined)[]> {
  const answers: (Hex | undefined)[] = []
  for (const probe of probes) answers.push(await machine.evm.logs.apart(() => answerTo(machine, context, probe)))
  return answers
}

async function answerTo(
  { evm, world, journal }: Machine,
  { evmBlock }: BlockContext,
  { to, input }: Probe,
): Promise<Hex | undefined> {
  const recorder = evm instanceof RecordingEvm ? evm.recorder : undefined
  if (evm instanceof RecordingEvm) evm.recorder = undefined
  journal.cleanJournal()
  await journal.checkpoint()
  const { execResult } = await evm.runCall({
    block: evmBlock,
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
  const { returnValue, exceptionError } = execResult
  return exceptionError || returnValue.length > MOST_BYTES ? undefined : hexOf(returnValue)
}
