import { Button, CopyButton, Loader, VisuallyHidden } from '@mantine/core'
import { useEffect, useMemo, useState } from 'react'
import { type Address as Account, type Hex, hexToBigInt } from 'viem'
import { addressName } from '../address-text.js'
import { namedText } from '../names/decode.js'
import { KNOWN_CONTRACTS } from '../names/known-contracts.js'
import { Address } from '../parts/address.js'
import { Code } from '../parts/code.js'
import { Details } from '../parts/details.js'
import { Notice } from '../parts/notice.js'
import type { Pasted } from '../paste/pasted.js'
import type { Draft } from '../request/draft.js'
import type { Call } from '../request/payload.js'
import { snippetsOf } from '../request/snippets.js'
import { call } from '../rpc.js'
import { actorOf } from './account-call.js'
import { delegationsOf, delegationWarnings, type Warning, warningsOf } from './beware.js'
import { CallDetails, Verdict } from './call-details.js'
import { holdingOf } from './holding.js'
import { nameOfFor } from './name-of.js'
import { reasonOf, type SimulatedCall } from './outcome.js'
import { failureIn, type Remedy, remedyFor } from './remedies.js'
import { joinedChanges, type Subject, sentenceOf } from './sentence.js'
import { callsOf, type Outcome, outcomeOn, type Request } from './simulation.js'

interface Props {
  request: Request
  pasted: Pasted | undefined
  /** Takes a changed request, and simulates it. */
  onTry(draft: Draft): void
}

/** What the request does: delegations, one sentence, what to beware of, the picture, the details. */
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
        <Answered request={request} outcome={outcome} pasted={pasted} />
      )}
      {outcome && <Help remedy={remedy} outcome={outcome} onTry={onTry} />}
      {outcome && second && <Difference request={request} shown={outcome} other={outcomes[second]} state={second} />}
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

/** A block under construction has no link: then it is the one of the newest block. */
function LinkButton({ outcomes }: { outcomes: (Outcome | undefined)[] }) {
  const links = outcomes.map((outcome) => (outcome?.kind === 'answered' ? outcome.link : undefined))
  const link = links.find((one) => one !== undefined)
  if (link === undefined) return null
  return (
    <CopyButton value={`${location.origin}${link}`}>
      {({ copied, copy }) => (
        <div>
          <Button variant="default" size="xs" onClick={copy}>
            {copied ? 'Copied' : 'Copy a link that says the same later'}
          </Button>
        </div>
      )}
    </CopyButton>
  )
}

type AnsweredOutcome = Extract<Outcome, { kind: 'answered' }>

/** The sentence, and what to beware of. */
function Answered({
  request,
  outcome,
  pasted,
}: {
  request: Request
  outcome: AnsweredOutcome
  pasted: Pasted | undefined
}) {
  const calls = callsOf(request, outcome.blocks)
  const summary = summaryOf(request, outcome)
  const last = calls.at(-1)?.outcome
  const first = calls[0]
  const holding = holdingOf(calls.map((one) => one.outcome))
  const nameOf = nameOfFor(joinedChanges(calls.map((one) => one.outcome.assetChanges)))
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
            <span className={summary.failed === undefined ? 'good' : 'bad'}>{summary.verdict}</span>{' '}
            <span className="quiet">{totalGas(calls).toLocaleString('en')} gas</span>
          </p>
        )}
        {summary.failed === undefined && <p className="sentence">{summary.sentence}</p>}
        {holding && <p className={holding.level}>{holding.text}</p>}
        <p className="quiet">
          As block {outcome.blocks.map(({ number }) => hexToBigInt(number)).join(', ')}, on{' '}
          {stateText(outcome.state, request.states[0]!)}
        </p>
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
  if (kind === 'preconfirmed') return `what is under construction${flashblock ? ` (flashblock ${flashblock})` : ''}`
  return kind === 'latest'
    ? 'the newest block'
    : asked.startsWith('0x') && asked.length < 20
      ? `block ${BigInt(asked)}`
      : asked
}

interface Summary {
  subject: Subject | undefined
  changes: ReturnType<typeof joinedChanges>
  verdict: string
  failed: string | undefined
  sentence: string
}

/** One line each of whether it succeeds and of what it does for whoever signs it. */
function summaryOf(request: Request, { blocks }: AnsweredOutcome): Summary {
  const calls = callsOf(request, blocks)
  const changes = joinedChanges(calls.map(({ outcome }) => outcome.assetChanges))
  const [first] = calls
  const nameOf = nameOfFor(changes)
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

/** Who signs: the sender, the account of a user operation, a Safe; or behind an entry point the account that it calls. */
function subjectOf({ from }: Call, outcome: SimulatedCall): Subject {
  const { trace, userOperation, safeTransaction } = outcome
  if (userOperation || safeTransaction) return { address: actorOf(outcome), isYou: false }
  const isEntryPoint = KNOWN_CONTRACTS[trace.from]?.startsWith('EntryPoint') === true
  return {
    address: isEntryPoint && trace.to !== undefined ? trace.to : trace.from,
    isYou: from !== undefined && !isEntryPoint,
  }
}

function totalGas(calls: { outcome: SimulatedCall }[]): bigint {
  return calls.reduce((sum, { outcome }) => sum + hexToBigInt(outcome.gasUsed), 0n)
}

/** Each call with its picture and its tables. */
function Calls({ request, outcome }: { request: Request; outcome: AnsweredOutcome }) {
  const calls = callsOf(request, outcome.blocks)
  const nameOf = useMemo(
    () => nameOfFor(joinedChanges(callsOf(request, outcome.blocks).map((one) => one.outcome.assetChanges))),
    [request, outcome],
  )
  if (calls.length === 1) return <CallDetails outcome={calls[0]!.outcome} nameOf={nameOf} />
  return (
    <ol className="calls">
      {calls.map(({ outcome: one }, at) => (
        <li key={at}>
          <h3>
            {at + 1}. {titleOf(one)}
          </h3>
          <Verdict outcome={one} nameOf={nameOf} />
          <CallDetails outcome={one} nameOf={nameOf} />
        </li>
      ))}
    </ol>
  )
}

function titleOf({ trace }: SimulatedCall): string {
  const named = trace.decoded?.call
  if (named !== undefined) return namedText(named)
  return /CREATE/.test(trace.type) ? 'Creates a contract' : `Calls ${addressName(trace.to ?? '0x')}`
}

function WarningNotice({ warning: { level, title, text, addresses } }: { warning: Warning }) {
  return (
    <Notice level={level} title={title}>
      {text}{' '}
      <span className="row">
        {addresses.map((address) => (
          <Address key={address} value={address} />
        ))}
      </span>
    </Notice>
  )
}

/** What would make it succeed: tried before it is offered. */
function Help({
  remedy,
  outcome,
  onTry,
}: {
  remedy: Remedy | 'none' | undefined
  outcome: Outcome
  onTry(draft: Draft): void
}) {
  if (outcome.kind === 'answered' && failureIn(outcome) === undefined) return null
  if (remedy === undefined) return <p className="quiet">Trying what would help …</p>
  if (remedy === 'none') return null
  return (
    <Notice level="plain" title="With this it succeeds: tried">
      <Button size="sm" className="wraps" onClick={() => onTry(remedy.draft)}>
        {remedy.label}
      </Button>
    </Notice>
  )
}

/** Said once, where the other state gives another outcome. */
function Difference({
  request,
  shown,
  other,
  state,
}: {
  request: Request
  shown: Outcome
  other: Outcome | undefined
  state: string
}) {
  if (other === undefined) return null
  const [here, there] = [shown, other].map((outcome) => lineOf(request, outcome))
  if (here === there) return <p className="quiet">The same on {state}.</p>
  return (
    <Notice level="caution" title={`It is different on ${state}`}>
      On {state}: {there} The outcome changes with what happens before it.
    </Notice>
  )
}

function lineOf(request: Request, outcome: Outcome): string {
  if (outcome.kind === 'refused') return `refused: ${outcome.why}.`
  const { verdict, failed, sentence } = summaryOf(request, outcome)
  return failed === undefined ? sentence : `${verdict.slice(2)}.`
}

/** What became of a mined transaction beside its replay. */
function Happened({
  happened: { succeeded, gasUsed },
  outcome,
}: {
  happened: NonNullable<Pasted['happened']>
  outcome: SimulatedCall
}) {
  const agrees = succeeded === (outcome.error === undefined) && gasUsed === hexToBigInt(outcome.gasUsed)
  const text = `On chain it ${succeeded ? 'succeeded' : 'failed'} and took ${gasUsed.toLocaleString('en')} gas.`
  return agrees ? (
    <Notice level="good" title="Replayed where it stood: the same as on chain">
      {text}
    </Notice>
  ) : (
    <Notice level="caution" title="The replay is not what happened on chain">
      {text}
    </Notice>
  )
}

/** Data sent to an address that has no code does nothing, and succeeds. */
function NoCode({ asked: { to, input }, outcome, request }: { asked: Call; outcome: SimulatedCall; request: Request }) {
  const [code, setCode] = useState<Hex>()
  const { trace, logs, error, returnData } = outcome
  const isOverridden = request.payload.blockStateCalls.some(({ stateOverrides = {} }) =>
    Object.keys(stateOverrides).some((address) => address.toLowerCase() === to?.toLowerCase()),
  )
  const isSuspicious =
    to !== undefined &&
    hexToBigInt(to) > 0x1000n &&
    input !== undefined &&
    input.length > 2 &&
    !isOverridden &&
    error === undefined &&
    trace.calls === undefined &&
    logs.length === 0 &&
    returnData === '0x'
  useEffect(() => {
    if (!isSuspicious) return
    const left = new AbortController()
    call<Hex>('eth_getCode', [to, 'latest'], left.signal).then(
      ({ result }) => setCode(result),
      () => {},
    )
    return () => left.abort()
  }, [isSuspicious, to])
  if (!isSuspicious || code !== '0x') return null
  return (
    <WarningNotice
      warning={{
        level: 'caution',
        title: 'There is no contract',
        text: 'The data are sent to an address without code: nothing runs.',
        addresses: [to as Account],
      }}
    />
  )
}
