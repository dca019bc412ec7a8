import { Button, Checkbox, Textarea } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { useChain } from '../chain/chain.js'
import { EXAMPLES } from '../examples/examples.js'
import { Notice } from '../parts/notice.js'
import { pastedDraft } from '../paste/paste.js'
import type { Pasted } from '../paste/pasted.js'
import { functionsOf } from '../request/abi.js'
import { accountForm } from '../request/account-form.js'
import { type BlockDraft, type Draft, EMPTY_BLOCK, EMPTY_DRAFT } from '../request/draft.js'
import { DraftError } from '../request/draft-error.js'
import { draftOfFragment, fragmentOf, requestOfFragment } from '../request/link.js'
import { call } from '../rpc.js'
import { goTo, useFragment, useView } from '../shell/route.js'
import { accountOf, useWallets } from '../wallet.js'
import { BlockForm } from './block-form.js'
import { Fault, Field, mark, reveal } from './field.js'
import { Result } from './result.js'
import { type Request, requestOf } from './simulation.js'

/** Look before you sign: a request form, and its outcome. */
export function LookPage() {
  const [draft, setDraft] = useState<Draft>(EMPTY_DRAFT)
  const [text, setText] = useState('')
  const [pasted, setPasted] = useState<Pasted>()
  const [sent, setSent] = useState<Request>()
  const [fault, setFault] = useState<DraftError>()
  const panel = useRef<HTMLElement>(null)
  const lastPaste = useRef(0)
  const waitsForChain = useRef(false)
  const chain = useChain()
  const fragment = useFragment()
  const isHere = useView().name === 'Look'

  /** Clears the result if the request is invalid. */
  const attempt = async (work: () => void | Promise<void>) => {
    setFault(undefined)
    try {
      await work()
    } catch (error) {
      setSent(undefined)
      const wrong = error instanceof DraftError ? error : new DraftError('The gateway', (error as Error).message)
      setFault(wrong)
      setTimeout(() => reveal(wrong.field))
    }
  }
  const simulate = (request: Draft) =>
    attempt(() => {
      const made = requestOf(request)
      setDraft(request)
      setSent(made)
      const link = `/console/#${fragmentOf(request)}`
      if (`/console/${location.hash}` !== link) goTo(link, requestOfFragment(location.hash) !== undefined)
      // With the result next to the form, no scrolling is needed.
      if (!window.matchMedia('(min-width: 64rem)').matches)
        setTimeout(() => panel.current?.scrollIntoView({ block: 'start' }))
    })
  const begin = (request: Draft) => {
    setText('')
    setPasted(undefined)
    return simulate(request)
  }
  const paste = (typed: string) => {
    setText(typed)
    setPasted(undefined)
    lastPaste.current += 1
    const own = lastPaste.current
    if (typed.trim() === '') return setFault(undefined)
    // The text can be recognised once the gateway has returned its chain.
    waitsForChain.current = chain === undefined
    if (chain === undefined) return
    return attempt(async () => {
      const ask = async <T,>(method: string, params: unknown[]) => (await call<T>(method, params)).result
      const known = await pastedDraft(typed, { chainId: chain.id, draft, ask }).catch((error: Error) => {
        if (own === lastPaste.current) throw error
      })
      if (own !== lastPaste.current || known === undefined) return
      setPasted(known)
      setDraft(known.draft)
      if (isEnough(known.draft)) await simulate(known.draft)
      else {
        setSent(undefined)
        reveal('blocks.0.calls.0.to')
      }
    })
  }
  const edit = (changed: Draft) => {
    setDraft(changed)
    setFault(undefined)
  }
  const editBlock = (index: number, block: BlockDraft) => edit({ ...draft, blocks: draft.blocks.with(index, block) })

  useEffect(() => {
    if (waitsForChain.current) paste(text)
  }, [chain])

  // A link shows its outcome at once, and so does the Back button.
  useEffect(() => {
    const request = isHere ? requestOfFragment(fragment) : undefined
    if (request !== undefined) return void paste(request)
    const linked = isHere ? draftOfFragment(fragment) : undefined
    if (linked === undefined || (sent && fragmentOf(sent.draft) === fragmentOf(linked))) return
    simulate(linked)
  }, [fragment, isHere])

  const isStale = sent !== undefined && sent.draft !== draft
  return (
    <Fault value={fault}>
      <p className="lead">Paste what you are about to sign: see what it does before it is sent.</p>
      <div className="look">
        <form
          className="card stack"
          onSubmit={(event) => {
            event.preventDefault()
            simulate(draft)
          }}
        >
          <Textarea
            id="paste"
            label="Paste anything: a transaction, a request, calldata, a hash"
            description="Signed or as a wallet’s JSON, a user operation, a Safe transaction, eth_simulateV1 or similar"
            rows={2}
            spellCheck={false}
            value={text}
            error={fault?.field === 'paste' ? fault.reason : undefined}
            onChange={({ target }) => paste(target.value)}
          />
          {pasted && <Known pasted={pasted} />}
          <Wallets onAccount={(from) => editBlock(0, withSender(draft.blocks[0]!, from))} onFault={setFault} />
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
          <details>
            <summary>ABI{mark(draft.abi !== '')}</summary>
            <Field
              field="abi"
              label="JSON, or lines such as function mint(uint256)"
              rows={3}
              value={draft.abi}
              onEdit={(abi) => edit({ ...draft, abi })}
            />
          </details>
          <details>
            <summary>What it stands on{mark(draft.state !== '' || draft.validation !== '')}</summary>
            <div className="stack">
              <Field
                field="state"
                label="State (empty: the newest; or a block number or hash)"
                hint="pending, compared with latest"
                value={draft.state}
                onEdit={(state) => edit({ ...draft, state })}
              />
              <Checkbox
                label="As if sent: nonce, fees and balance have to be valid"
                checked={draft.validation !== ''}
                onChange={({ target }) => edit({ ...draft, validation: target.checked ? 'yes' : '' })}
              />
            </div>
          </details>
          {fault && (
            <Notice level="danger" role="alert">
              {fault.message}
            </Notice>
          )}
          <div className="row submit">
            <Button type="submit">Simulate</Button>
            <Button variant="default" onClick={() => edit({ ...draft, blocks: [...draft.blocks, EMPTY_BLOCK] })}>
              Add a block
            </Button>
            <Button variant="subtle" color="gray" onClick={() => begin(EMPTY_DRAFT).then(() => setSent(undefined))}>
              Clear
            </Button>
          </div>
        </form>
        <section ref={panel} aria-label="Result" aria-live="polite" className={`card result ${isStale ? 'stale' : ''}`}>
          {isStale && (
            <Notice level="caution" title="The form has changed since this result">
              <Button size="xs" onClick={() => simulate(draft)}>
                Simulate again
              </Button>
            </Notice>
          )}
          {sent ? (
            <Result key={fragmentOf(sent.draft)} request={sent} pasted={pasted} onTry={begin} />
          ) : (
            <Examples onChosen={begin} />
          )}
        </section>
      </div>
    </Fault>
  )
}

/** Calldata alone is not enough: it does not say which contract it calls. */
function isEnough({ blocks }: Draft): boolean {
  return blocks.some(({ calls }) =>
    calls.some(
      ({ to, data, from, more }) => to !== '' || (data !== '' && from !== '') || accountForm(more) !== undefined,
    ),
  )
}

function withSender(block: BlockDraft, from: string): BlockDraft {
  return { ...block, calls: block.calls.map((call) => ({ ...call, from })) }
}

function Known({ pasted: { kind, notes } }: { pasted: Pasted }) {
  return (
    <Notice level="plain" role="status" title={kind}>
      {notes.length > 0 && notes.map((note) => <div key={note}>{note}.</div>)}
    </Notice>
  )
}

function Wallets({ onAccount, onFault }: { onAccount(account: string): void; onFault(fault: DraftError): void }) {
  const wallets = useWallets()
  if (wallets.length === 0) return null
  return (
    <div className="row">
      {wallets.map((wallet) => (
        <Button
          key={wallet.id}
          size="xs"
          variant="default"
          onClick={() =>
            accountOf(wallet).then(onAccount, (error: Error) => onFault(new DraftError(wallet.name, error.message)))
          }
        >
          As my account in {wallet.name}
        </Button>
      ))}
    </div>
  )
}

function Examples({ onChosen }: { onChosen(draft: Draft): void }) {
  return (
    <div className="stack">
      <h2>Nothing is simulated yet</h2>
      <p className="quiet">
        Paste something, fill the form in, or begin with an example. They bring their contracts with them as state
        overrides: they work on every chain, and nothing is sent.
      </p>
      <div className="row">
        {EXAMPLES.map(({ name, draft }) => (
          <Button key={name} variant="default" onClick={() => onChosen(draft)}>
            {name}
          </Button>
        ))}
      </div>
    </div>
  )
}
