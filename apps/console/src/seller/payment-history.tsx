import { Drawer } from '@mantine/core'
import { formatEther } from 'viem'
import { Address, Hash } from '../parts/address.js'
import { Json } from '../parts/code.js'
import { Notice } from '../parts/notice.js'
import { Table } from '../parts/table.js'
import { Time } from '../parts/time.js'
import type { TokenTerms } from '../pay/token-terms.js'
import type { PaymentHistory } from './ledger.js'

/** The history of one payment, in a drawer. */
export function History({
  history,
  tokens,
  onClose,
}: {
  history: PaymentHistory | undefined
  /** By token address. */
  tokens: ReadonlyMap<string, TokenTerms>
  onClose(): void
}) {
  return (
    <Drawer
      opened={history !== undefined}
      onClose={onClose}
      position="right"
      size="xl"
      lockScroll={false}
      transitionProps={{ duration: 0 }}
      closeButtonProps={{ 'aria-label': 'Close' }}
      // Only the page itself may have a banner role.
      attributes={{ header: { role: 'presentation' } }}
      title={history && `Payment ${history.payment.id}: ${history.payment.state}`}
    >
      {history && <Events {...history} terms={tokens.get(history.payment.asset)} />}
    </Drawer>
  )
}

function Events({
  payment,
  events,
  transactions,
  waitsFor,
  terms,
}: PaymentHistory & { terms: TokenTerms | undefined }) {
  return (
    <div className="stack wider">
      {waitsFor && (
        <Notice level="caution" title="It waits">
          {waitsFor}
        </Notice>
      )}
      <ol className="events">
        {events.map(({ id, at, kind, fromState, toState, reason, data }) => (
          <li key={id}>
            <Time at={at} /> · <strong>{kind}</strong>
            {fromState === toState ? '' : ` (${fromState ?? 'new'} → ${toState})`}
            {reason && `, ${reason}`} <Data data={data} terms={terms} />
          </li>
        ))}
      </ol>
      {transactions.length > 0 && (
        <Table
          caption="Transactions signed for it"
          rows={transactions}
          rowKey={({ hash }) => hash}
          columns={[
            { head: 'Hash', cell: ({ hash }) => <Hash value={hash} /> },
            { head: 'State', cell: ({ status }) => status },
            { head: 'Nonce', isNumber: true, cell: ({ nonce }) => nonce },
            { head: 'Signed', cell: ({ signedAt }) => <Time at={signedAt} /> },
          ]}
        />
      )}
      <Json title="The payment as JSON" value={payment} />
    </div>
  )
}

function Data({ data, terms }: { data: object; terms: TokenTerms | undefined }) {
  const shown = Object.entries(data).filter(([, value]) => value !== null)
  if (shown.length === 0) return null
  return (
    <span className="quiet">
      {shown.map(([name, value], at) => (
        <span key={name}>
          {at > 0 && ', '}
          {WORDS[name] ?? name} <Value name={name} text={String(value)} terms={terms} />
        </span>
      ))}
    </span>
  )
}

const WORDS: Record<string, string> = { feePaid: 'gas paid', gasUsed: 'gas used', logIndex: 'log' }
const AMOUNTS = new Set(['maximum', 'charge', 'transferred'])

function Value({ name, text, terms }: { name: string; text: string; terms: TokenTerms | undefined }) {
  if (/^0x[0-9a-f]{40}$/i.test(text)) return <Address value={text} />
  if (/^0x[0-9a-f]{64}$/i.test(text)) return <Hash value={text} />
  if (!/^\d+$/.test(text)) return text
  if (name === 'deadline') return <Time at={new Date(Number(text) * 1_000).toISOString()} />
  if (name === 'feePaid') return `${formatEther(BigInt(text))} ETH`
  if (AMOUNTS.has(name) && terms) return terms.inWords(BigInt(text))
  return name === 'gasUsed' ? BigInt(text).toLocaleString('en') : text
}
