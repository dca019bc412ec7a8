import { hexToBigInt } from 'viem'
import { addressName } from '../address-text.js'
import { KNOWN_CONTRACTS } from '../names/known-contracts.js'
import type { Call } from '../request/payload.js'
import { actorOf } from './account-call.js'
import type { SimulatedCall } from './answer.js'
import { nameOfFor } from './name-of.js'
import { reasonOf } from './outcome.js'
import { joinedChanges, type Subject, sentenceOf } from './sentence.js'
import { callsOf, type Outcome, type Request } from './simulation.js'

export type AnsweredOutcome = Extract<Outcome, { kind: 'answered' }>

interface Summary {
  subject: Subject | undefined
  changes: ReturnType<typeof joinedChanges>
  verdict: string
  failed: string | undefined
  sentence: string
}

/** One line about success, and one about the effect for the signer. */
export function summaryOf(request: Request, { blocks, units }: AnsweredOutcome): Summary {
  const calls = callsOf(request, blocks)
  const changes = joinedChanges(calls.map(({ outcome }) => outcome.assetChanges))
  const [first] = calls
  const nameOf = nameOfFor(changes, units)
  const subject = first && subjectOf(first.asked, first.outcome)
  const at = calls.findIndex(({ outcome }) => outcome.error !== undefined)
  const failed = at < 0 ? undefined : reasonOf(calls[at]!.outcome)
  const many = calls.length > 1
  return {
    subject,
    changes,
    failed,
    verdict:
      failed === undefined
        ? `✓ ${many ? `All ${calls.length} calls succeed` : 'Succeeds'}`
        : `✗ ${many ? `Call ${at + 1} of ${calls.length} fails` : 'Fails'}: ${failed}`,
    sentence: subject
      ? sentenceOf(changes, subject, (address) => nameOf(address) ?? addressName(address))
      : 'There is no call.',
  }
}

/** The signer: the sender, the account of a user operation, a Safe; behind an entry point, the account that it calls. */
function subjectOf({ from }: Call, outcome: SimulatedCall): Subject {
  const { trace, userOperation, safeTransaction } = outcome
  if (userOperation || safeTransaction) return { address: actorOf(outcome), isYou: false }
  const isEntryPoint = KNOWN_CONTRACTS[trace.from]?.startsWith('EntryPoint') === true
  return {
    address: isEntryPoint && trace.to !== undefined ? trace.to : trace.from,
    isYou: from !== undefined && !isEntryPoint,
  }
}

export function totalGas(calls: { outcome: SimulatedCall }[]): bigint {
  return calls.reduce((sum, { outcome }) => sum + hexToBigInt(outcome.gasUsed), 0n)
}

/** The outcome in one line. */
export function lineOf(request: Request, outcome: Outcome): string {
  if (outcome.kind === 'refused') return `refused: ${outcome.why}.`
  const { verdict, failed, sentence } = summaryOf(request, outcome)
  return failed === undefined ? sentence : `${verdict.slice(2)}.`
}
