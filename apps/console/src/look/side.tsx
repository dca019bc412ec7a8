import { useEffect, useState } from 'react'
import { type Abi, hexToBigInt } from 'viem'
import type { SimulatePayload } from '../request/payload.js'
import { type Answer, call } from '../rpc.js'
import { CallOutcome } from './call-outcome.js'
import type { SimulatedBlock } from './outcome.js'

type State =
  | { kind: 'asking' }
  | { kind: 'failed'; why: string }
  | { kind: 'answered'; answer: Answer<SimulatedBlock[]> }

/** Asked for beside the outcome of each call. */
const SHOWN = { trace: true, stateDiff: true, assetChanges: true }

/** What the request does on one state. */
export function Side({
  request,
  block,
}: {
  request: { payload: SimulatePayload; abi: Abi }
  block: 'latest' | 'pending'
}) {
  const [state, setState] = useState<State>({ kind: 'asking' })
  useEffect(() => {
    const left = new AbortController()
    setState({ kind: 'asking' })
    call<SimulatedBlock[]>(
      'upfront_simulate',
      [{ ...request.payload, ...SHOWN, ...(request.abi.length > 0 && { abi: request.abi }) }, block],
      left.signal,
    ).then(
      (answer) => setState({ kind: 'answered', answer }),
      (error: Error) => left.signal.aborted || setState({ kind: 'failed', why: error.message }),
    )
    return () => left.abort()
  }, [request, block])
  return (
    <section className="side" aria-labelledby={`on-${block}`} aria-busy={state.kind === 'asking'}>
      <h3 id={`on-${block}`}>On {block}</h3>
      {state.kind === 'asking' && <p>Simulating …</p>}
      {state.kind === 'failed' && (
        <p className="bad" role="alert">
          Refused: {state.why}
        </p>
      )}
      {state.kind === 'answered' && <Blocks {...state.answer} />}
    </section>
  )
}

function Blocks({ result, state }: Answer<SimulatedBlock[]>) {
  return result.map(({ number, calls }) => (
    <div key={number}>
      <p className="quiet">
        As block {hexToBigInt(number).toString()}
        {state && <> on {state}</>}
      </p>
      <ol className="calls">
        {calls.map((outcome, index) => (
          <li key={index}>
            <CallOutcome outcome={outcome} />
          </li>
        ))}
      </ol>
    </div>
  ))
}
