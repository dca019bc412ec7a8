import { useEffect, useState } from 'react'
import {
  type CallDraft,
  type Draft,
  DraftError,
  draftFrom,
  draftOfFragment,
  EMPTY_CALL,
  EMPTY_DRAFT,
  fragmentOf,
  payloadOf,
  type SimulatePayload,
} from '../request/draft.js'
import { snippetsOf } from '../request/snippets.js'
import { CallForm } from './call-form.js'
import { Side } from './side.js'

const BLOCKS = ['latest', 'pending'] as const

/** Look before you sign: a request as a form, and what it does on `latest` and `pending`. */
export function LookPage() {
  const [draft, setDraft] = useState<Draft>(() => draftOfFragment(location.hash) ?? EMPTY_DRAFT)
  const [sent, setSent] = useState<SimulatePayload>()
  const [fault, setFault] = useState<string>()

  const edit = (changed: Draft) => {
    setDraft(changed)
    history.replaceState(null, '', `#${fragmentOf(changed)}`)
  }
  const attempt = async (work: () => void | Promise<void>) => {
    setFault(undefined)
    try {
      await work()
    } catch (error) {
      if (!(error instanceof DraftError)) throw error
      setFault(error.message)
    }
  }
  const simulate = (request: Draft) => attempt(() => setSent(payloadOf(request)))
  const paste = (text: string) =>
    attempt(async () => {
      const pasted = await draftFrom(text)
      edit(pasted)
      setSent(payloadOf(pasted))
    })
  const editCall = (index: number, call: CallDraft) => edit({ ...draft, calls: draft.calls.with(index, call) })

  // A link shows its outcome at once.
  useEffect(() => {
    const linked = draftOfFragment(location.hash)
    if (linked !== undefined) simulate(linked)
  }, [])

  return (
    <>
      <h2>Look before you sign</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          simulate(draft)
        }}
      >
        <label>
          Paste a signed transaction, a wallet’s JSON or a request
          <textarea
            rows={2}
            spellCheck={false}
            onChange={({ target: { value } }) => value.trim() !== '' && paste(value)}
          />
        </label>
        {draft.calls.map((call, index) => (
          <CallForm
            key={index}
            number={index + 1}
            call={call}
            onEdit={(changed) => editCall(index, changed)}
            onRemove={
              draft.calls.length > 1 ? () => edit({ ...draft, calls: draft.calls.toSpliced(index, 1) }) : undefined
            }
          />
        ))}
        <details open={draft.overrides !== ''}>
          <summary>State overrides</summary>
          <label>
            JSON by address, as eth_simulateV1 takes it
            <textarea
              rows={4}
              spellCheck={false}
              value={draft.overrides}
              onChange={({ target: { value } }) => edit({ ...draft, overrides: value })}
            />
          </label>
        </details>
        <p className="buttons">
          <button type="submit">Simulate</button>
          <button type="button" onClick={() => edit({ ...draft, calls: [...draft.calls, EMPTY_CALL] })}>
            Add a call
          </button>
        </p>
        {fault && (
          <p className="bad" role="alert">
            {fault}
          </p>
        )}
      </form>
      {sent && (
        <>
          <div className="sides" aria-live="polite">
            {BLOCKS.map((block) => (
              <Side key={block} payload={sent} block={block} />
            ))}
          </div>
          <details>
            <summary>The request as code</summary>
            {snippetsOf(sent, 'pending', `${location.origin}/ethereum`).map(({ client, code }) => (
              <div key={client}>
                <h3>{client}</h3>
                {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
                <pre tabIndex={0}>{code}</pre>
              </div>
            ))}
          </details>
        </>
      )}
    </>
  )
}
