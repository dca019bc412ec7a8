import { Button } from '@mantine/core'
import { useEffect, useState } from 'react'
import { type Address as Account, type Hex, hexToBigInt } from 'viem'
import { Address } from '../parts/address.js'
import { Notice } from '../parts/notice.js'
import type { Pasted } from '../paste/pasted.js'
import type { Draft, Remedy } from '../request/draft.js'
import type { Call } from '../request/payload.js'
import { call } from '../rpc.js'
import type { SimulatedCall } from './answer.js'
import { failureIn, type Outcome, type Request } from './simulation.js'
import { lineOf } from './summary.js'
import type { Warning } from './warnings.js'

export function WarningNotice({ warning: { level, title, text, addresses } }: { warning: Warning }) {
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

/** Offers a change that makes the request succeed. It was tried before. */
export function Help({
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
    <Notice level="plain" title="It succeeds with this (tried)">
      <Button size="sm" className="wraps" onClick={() => onTry(remedy.draft)}>
        {remedy.label}
      </Button>
    </Notice>
  )
}

/** Shown once, if the other state gives another outcome. */
export function Difference({
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
  if (here === there) return <p className="quiet meta">The same on {state}.</p>
  return (
    <Notice level="caution" title={`It is different on ${state}`}>
      On {state}: {there} The outcome changes with what happens before it.
    </Notice>
  )
}

/** The outcome of a mined transaction, next to its replay. */
export function Happened({
  happened: { succeeded, gasUsed },
  outcome,
}: {
  happened: NonNullable<Pasted['happened']>
  outcome: SimulatedCall
}) {
  const agrees = succeeded === (outcome.error === undefined) && gasUsed === hexToBigInt(outcome.gasUsed)
  const text = `On chain it ${succeeded ? 'succeeded' : 'failed'} and took ${gasUsed.toLocaleString('en')} gas.`
  return agrees ? (
    <Notice level="good" title="Replayed at its position: the same as on chain">
      {text}
    </Notice>
  ) : (
    <Notice level="caution" title="The replay differs from what happened on chain">
      {text}
    </Notice>
  )
}

/** Data sent to an address without code does nothing, and succeeds. */
export function NoCode({
  asked: { to, input },
  outcome,
  request,
}: {
  asked: Call
  outcome: SimulatedCall
  request: Request
}) {
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
        text: 'The data goes to an address without code: nothing runs.',
        addresses: [to as Account],
      }}
    />
  )
}
