import { Button, FileButton, Loader, Textarea, TextInput } from '@mantine/core'
import type { Check, Outcome, Verification } from '@upfront/receipt/page'
import { useEffect, useRef, useState } from 'react'
import { Notice } from '../parts/notice.js'
import { Table } from '../parts/table.js'
import { Text } from '../parts/text.js'
import { useHandedBill } from './bill.js'
import { checkBill } from './check-bill.js'

const VERDICTS: Record<Outcome, { level: 'good' | 'danger' | 'caution'; title: string; text: string }> = {
  right: { level: 'good', title: 'The bill is right', text: 'Every check was made and passed.' },
  wrong: {
    level: 'danger',
    title: 'The bill is wrong',
    text: 'See below: the field, its value, and what it should be.',
  },
  unchecked: {
    level: 'caution',
    title: 'Nothing is wrong, but not everything could be checked',
    text: 'See below what is missing, and what could not be checked without it.',
  },
}

/** Checks a bill dropped on the page. The bill never leaves the browser. */
export function CheckPage() {
  const [text, setText] = useState('')
  const [signer, setSigner] = useState('')
  const [isChecking, setChecking] = useState(false)
  const [found, setFound] = useState<Verification>()
  const [fault, setFault] = useState<string>()
  const under = useRef<AbortController>(undefined)
  const handed = useHandedBill()

  const edit = (typed: string) => {
    under.current?.abort()
    setText(typed)
    setFound(undefined)
    setFault(undefined)
  }
  const check = async (bill: string) => {
    edit(bill)
    const own = new AbortController()
    under.current = own
    setChecking(true)
    try {
      const value: unknown = JSON.parse(bill)
      const verification = await checkBill({ bill: value, ...(signer.trim() && { signer: signer.trim() }) }, own.signal)
      if (!own.signal.aborted) setFound(verification)
    } catch (error) {
      if (!own.signal.aborted) setFault(error instanceof SyntaxError ? 'not JSON' : (error as Error).message)
    }
    if (under.current === own) setChecking(false)
  }
  const read = async (file: File | null | undefined) => {
    if (file) await check(await file.text())
  }
  useEffect(() => {
    if (handed !== undefined) check(handed)
  }, [handed])

  return (
    <div className="stack wider">
      <p className="lead">
        Drop a paid answer here, as its buyer kept it. Signatures, hashes, proofs and the price are checked, and the
        work is done again, in this browser: nothing of it is sent anywhere.
      </p>
      <form
        className="card stack"
        onSubmit={(event) => {
          event.preventDefault()
          check(text)
        }}
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault()
          read(event.dataTransfer.files[0])
        }}
      >
        <Textarea
          label="The bill as JSON: drop a file, or paste it"
          description="request, answer, offer, payment, settlement, seller"
          rows={5}
          spellCheck={false}
          value={text}
          error={fault}
          onChange={({ target }) => edit(target.value)}
        />
        <TextInput
          label="The seller’s receipt key, if you know it from another source"
          placeholder="0x…"
          spellCheck={false}
          autoComplete="off"
          value={signer}
          onChange={({ target }) => setSigner(target.value)}
        />
        <div className="row">
          <Button type="submit" disabled={text.trim() === ''}>
            Check this bill
          </Button>
          <FileButton onChange={read} accept="application/json,.json">
            {(props) => (
              <Button variant="default" {...props}>
                Choose a file
              </Button>
            )}
          </FileButton>
        </div>
      </form>
      {isChecking && (
        <p className="row" role="status">
          <Loader size="sm" /> Checking, and executing it again …
        </p>
      )}
      {fault !== undefined && (
        <Notice level="danger" role="alert" title="It can’t be checked">
          {fault}
        </Notice>
      )}
      {found && <Found {...found} />}
    </div>
  )
}

function Found({ verdict, calls, payment }: Verification) {
  const { level, title, text } = VERDICTS[verdict]
  return (
    <section className="card stack wider" aria-label="What was found">
      <Notice level={level} role="status" title={title}>
        {text}
      </Notice>
      {calls.map(({ name, checks }) => (
        <Checks key={name} title={calls.length > 1 ? name : 'The answer'} checks={checks} />
      ))}
      <Checks title="The payment" checks={payment} />
    </section>
  )
}

const MARKS: Record<Outcome, { look: string; text: string }> = {
  right: { look: 'good', text: '✓ right' },
  wrong: { look: 'bad', text: '✗ wrong' },
  unchecked: { look: 'caution', text: '– open' },
}

function Checks({ title, checks }: { title: string; checks: Check[] }) {
  return (
    <Table
      caption={title}
      rows={checks}
      rowKey={({ name }) => name}
      columns={[
        { head: 'Check', cell: ({ name }) => name },
        {
          head: 'Outcome',
          cell: ({ outcome }) => <span className={`${MARKS[outcome].look} whole`}>{MARKS[outcome].text}</span>,
        },
        {
          head: 'What was found',
          cell: ({ detail }) => (
            <span className="found">
              <Text>{detail}</Text>
            </span>
          ),
        },
      ]}
    />
  )
}
