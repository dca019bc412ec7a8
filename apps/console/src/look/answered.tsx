import type { ReactNode } from 'react'
import { hexToBigInt } from 'viem'
import type { Pasted } from '../paste/pasted.js'
import { Verdict } from './call-details.js'
import { Flows } from './flows.js'
import { holdingOf } from './holding.js'
import { nameOfFor } from './name-of.js'
import { Happened, NoCode, WarningNotice } from './outcome-notices.js'
import { joinedChanges } from './sentence.js'
import { callsOf, type Request } from './simulation.js'
import { type AnsweredOutcome, summaryOf, totalGas } from './summary.js'
import { warningsOf } from './warnings.js'

/** The summary, the assets given and received, and warnings. @param children the same on another state */
export function Answered({
  request,
  outcome,
  pasted,
  children,
}: {
  request: Request
  outcome: AnsweredOutcome
  pasted: Pasted | undefined
  children: ReactNode
}) {
  const calls = callsOf(request, outcome.blocks)
  const summary = summaryOf(request, outcome)
  const last = calls.at(-1)?.outcome
  const first = calls[0]
  const holding = holdingOf(calls.map((one) => one.outcome))
  const nameOf = nameOfFor(joinedChanges(calls.map((one) => one.outcome.assetChanges)), outcome.units)
  const warnings = summary.subject
    ? warningsOf(
        calls.map((one) => one.outcome),
        summary.changes,
        summary.subject.address,
      )
    : []
  const happened = pasted?.happened
  return (
    <>
      <div>
        {calls.length === 1 && first ? (
          <Verdict outcome={first.outcome} nameOf={nameOf} />
        ) : (
          <p className="verdict">
            <span className={summary.failed === undefined ? 'good pill' : 'bad'}>{summary.verdict}</span>{' '}
            <span className="quiet">{totalGas(calls).toLocaleString('en')} gas</span>
          </p>
        )}
        {summary.failed === undefined && <p className="sentence">{summary.sentence}</p>}
        {summary.failed === undefined && summary.subject && (
          <Flows changes={summary.changes} account={summary.subject.address} nameOf={nameOf} />
        )}
        {/* That a failure holds is no good news. */}
        {holding && (
          <p
            className={`holding ${summary.failed !== undefined && holding.level === 'good' ? 'quiet' : holding.level}`}
          >
            {holding.text}
          </p>
        )}
        <p className="quiet meta">
          As block {outcome.blocks.map(({ number }) => hexToBigInt(number)).join(', ')}, on{' '}
          {stateText(outcome.state, request.states[0]!)}
        </p>
        {children}
      </div>
      {happened && last && <Happened happened={happened} outcome={last} />}
      {warnings.map((warning, at) => (
        <WarningNotice key={at} warning={warning} />
      ))}
      {calls.map(({ asked, outcome: one }, at) => (
        <NoCode key={at} asked={asked} outcome={one} request={request} />
      ))}
    </>
  )
}

function stateText(header: string | undefined, asked: string): string {
  const [kind, ...facts] = (header ?? '').split('; ')
  const flashblock = facts.find((fact) => fact.startsWith('flashblock='))?.slice('flashblock='.length)
  if (kind === 'preconfirmed') return `the block under construction${flashblock ? ` (flashblock ${flashblock})` : ''}`
  return kind === 'latest'
    ? 'the newest block'
    : asked.startsWith('0x') && asked.length < 20
      ? `block ${BigInt(asked)}`
      : asked
}
