import { Button, CopyButton, Loader, VisuallyHidden } from '@mantine/core'
import { type ComponentProps, useEffect, useMemo, useState } from 'react'
import { addressName } from '../address-text.js'
import { Code } from '../parts/code.js'
import { Details } from '../parts/details.js'
import { Notice } from '../parts/notice.js'
import type { Pasted } from '../paste/pasted.js'
import type { Draft, Remedy } from '../request/draft.js'
import { snippetsOf } from '../request/snippets.js'
import { Answered } from './answered.js'
import { CallDetails, Verdict } from './call-details.js'
import { Called } from './call-tree.js'
import { nameOfFor } from './name-of.js'
import { Difference, Help, WarningNotice } from './outcome-notices.js'
import { remedyFor } from './remedies.js'
import { joinedChanges } from './sentence.js'
import { callsOf, failureIn, type Outcome, outcomeOn, type Request } from './simulation.js'
import type { AnsweredOutcome } from './summary.js'
import { unitsOfFor } from './token-units.js'
import { delegationsOf, delegationWarnings, type Warning } from './warnings.js'

interface Props {
  request: Request
  pasted: Pasted | undefined
  /** Replaces the request and simulates it. */
  onTry(draft: Draft): void
}

/** The effect of the request: delegations, a sentence, warnings, the picture, details. */
export function Result({ request, pasted, onTry }: Props) {
  const [outcomes, setOutcomes] = useState<Record<string, Outcome>>({})
  const [warnings, setWarnings] = useState<Warning[]>([])
  const [remedy, setRemedy] = useState<Remedy | 'none'>()
  useEffect(() => {
    const left = new AbortController()
    for (const state of request.states) {
      outcomeOn(request, state, left.signal).then(
        async (outcome) => {
          setOutcomes((known) => ({ ...known, [state]: outcome }))
          if (state !== request.states[0]) return
          if (outcome.kind === 'answered' && failureIn(outcome) === undefined) return
          const found = await remedyFor(request, outcome, state, left.signal).catch(() => undefined)
          if (!left.signal.aborted) setRemedy(found ?? 'none')
        },
        () => {},
      )
    }
    delegationsOf(request.payload).then((delegations) => {
      if (!left.signal.aborted) setWarnings(delegationWarnings(delegations))
    })
    return () => left.abort()
  }, [request])

  const [first, second] = request.states
  const outcome = outcomes[first!]
  const difference = outcome && second && (
    <Difference request={request} shown={outcome} other={outcomes[second]} state={second} />
  )
  return (
    <div className="outcome stack wider">
      <VisuallyHidden component="h2">What it does</VisuallyHidden>
      {warnings.map((warning, at) => (
        <WarningNotice key={at} warning={warning} />
      ))}
      {outcome === undefined ? (
        <p className="row" role="status">
          <Loader size="sm" /> Simulating …
        </p>
      ) : outcome.kind === 'refused' ? (
        <Notice level="danger" role="alert" title="It can’t be sent like this">
          {outcome.why}
        </Notice>
      ) : (
        <Answered request={request} outcome={outcome} pasted={pasted}>
          {difference}
        </Answered>
      )}
      {outcome && <Help remedy={remedy} outcome={outcome} onTry={onTry} />}
      {outcome?.kind === 'refused' && difference}
      {outcome?.kind === 'answered' && <Calls request={request} outcome={outcome} />}
      <LinkButton outcomes={request.states.map((state) => outcomes[state])} />
      {outcome && (
        <Details title="The request as code">
          {snippetsOf(request.payload, first!, `${location.origin}/ethereum`).map(({ client, code }) => (
            <div key={client}>
              <h3>{client}</h3>
              <Code>{code}</Code>
            </div>
          ))}
        </Details>
      )}
    </div>
  )
}

/** A block under construction has no link; that of the newest block is used instead. */
function LinkButton({ outcomes }: { outcomes: (Outcome | undefined)[] }) {
  const links = outcomes.map((outcome) => (outcome?.kind === 'answered' ? outcome.link : undefined))
  const link = links.find((one) => one !== undefined)
  if (link === undefined) return null
  return (
    <CopyButton value={`${location.origin}${link}`}>
      {({ copied, copy }) => (
        <div>
          <Button variant="default" size="xs" onClick={copy}>
            {copied ? 'Copied' : 'Copy a link that shows the same later'}
          </Button>
        </div>
      )}
    </CopyButton>
  )
}

/** Each call with its picture and tables. */
function Calls({ request, outcome }: { request: Request; outcome: AnsweredOutcome }) {
  const calls = callsOf(request, outcome.blocks)
  const nameOf = useMemo(
    () =>
      nameOfFor(joinedChanges(callsOf(request, outcome.blocks).map((one) => one.outcome.assetChanges)), outcome.units),
    [request, outcome],
  )
  const { units } = outcome
  if (calls.length === 1) return <CallDetails outcome={calls[0]!.outcome} nameOf={nameOf} units={units} />
  return (
    <ol className="calls">
      {calls.map(({ outcome: one }, at) => (
        <li key={at}>
          <h3>
            {at + 1}. <Title outcome={one} nameOf={nameOf} units={units} />
          </h3>
          <Verdict outcome={one} nameOf={nameOf} />
          <CallDetails outcome={one} nameOf={nameOf} units={units} />
        </li>
      ))}
    </ol>
  )
}

function Title({ outcome: { trace, assetChanges }, nameOf, units }: ComponentProps<typeof CallDetails>) {
  const { decoded, type, to } = trace
  if (decoded?.call === undefined)
    return /CREATE/.test(type) ? 'Creates a contract' : `Calls ${addressName(to ?? '0x')}`
  return <Called named={decoded.call} to={to} nameOf={nameOf} unitsOf={unitsOfFor(assetChanges, trace, units)} />
}
