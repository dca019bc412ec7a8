import { useEffect, useState } from 'react'
import type { Abi } from 'viem'
import { Code } from '../code.js'
import { abiOf, functionsOf } from '../request/abi.js'
import { type BlockDraft, type Draft, EMPTY_BLOCK, EMPTY_DRAFT } from '../request/draft.js'
import { DraftError } from '../request/draft-error.js'
import { draftOfFragment, fragmentOf } from '../request/link.js'
import { draftFrom } from '../request/paste.js'
import { payloadOf, type SimulatePayload } from '../request/payload.js'
import { snippetsOf } from '../request/snippets.js'
import { BlockForm } from './block-form.js'
import { Side } from './side.js'

const BLOCKS = ['latest', 'pending'] as const

/** Look before you sign: a request as a form, and what it does on `latest` and `pending`. */
export function LookPage() {
  const [draft, setDraft] = useState<Draft>(() => draftOfFragment(location.hash) ?? EMPTY_DRAFT)
  const [sent, setSent] = useState<{ payload: SimulatePayload; abi: Abi }>()
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
  const simulate = (request: Draft) => attempt(() => setSent({ payload: payloadOf(request), abi: abiOf(request.abi) }))
  const paste = (text: string) =>
    attempt(async () => {
      const pasted = await draftFrom(text)
      edit(pasted)
      setSent({ payload: payloadOf(pasted), abi: [] })
    })
  const editBlock = (index: number, block: BlockDraft) => edit({ ...draft, blocks: draft.blocks.with(index, block) })

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
        <details open={draft.abi !== ''}>
          <summary>ABI</summary>
          <label>
            JSON, or lines such as function mint(uint256)
            <textarea
              rows={3}
              spellCheck={false}
              value={draft.abi}
              onChange={({ target: { value } }) => edit({ ...draft, abi: value })}
            />
          </label>
        </details>
        {draft.blocks.map((block, index) => (
          <BlockForm
            key={index}
            number={index + 1}
            block={block}
            functions={functionsOf(draft.abi)}
            onEdit={(changed) => editBlock(index, changed)}
            onRemove={
              draft.blocks.length > 1 ? () => edit({ ...draft, blocks: draft.blocks.toSpliced(index, 1) }) : undefined
            }
          />
        ))}
        <p className="buttons">
          <button type="submit">Simulate</button>
          <button type="button" onClick={() => edit({ ...draft, blocks: [...draft.blocks, EMPTY_BLOCK] })}>
            Add a block
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
              <Side key={block} request={sent} block={block} />
            ))}
          </div>
          <details>
            <summary>The request as code</summary>
            {snippetsOf(sent.payload, 'pending', `${location.origin}/ethereum`).map(({ client, code }) => (
              <div key={client}>
                <h3>{client}</h3>
                <Code>{code}</Code>
              </div>
            ))}
          </details>
        </>
      )}
    </>
  )
}
