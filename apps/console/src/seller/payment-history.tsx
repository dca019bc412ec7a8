import { Table } from '../table.js'
import type { PaymentHistory } from './ledger.js'

/** Everything that happened to one payment. */
export function History({ payment, events, transactions, waitsFor }: PaymentHistory) {
  return (
    <section aria-labelledby="history">
      <h3 id="history">
        Payment <code>{payment.id}</code>: {payment.state}
      </h3>
      {waitsFor && <p className="bad">Waits: {waitsFor}</p>}
      <ol>
        {events.map(({ id, at, kind, fromState, toState, reason, data }) => (
          <li key={id}>
            {at}: {kind}
            {fromState === toState ? '' : ` (${fromState ?? 'new'} → ${toState})`}
            {reason && `, ${reason}`} <Data data={data} />
          </li>
        ))}
      </ol>
      {transactions.length > 0 && (
        <Table
          caption="Transactions signed for it"
          rows={transactions}
          rowKey={({ hash }) => hash}
          columns={[
            { head: 'Hash', cell: ({ hash }) => <code>{hash}</code> },
            { head: 'State', cell: ({ status }) => status },
            { head: 'Nonce', cell: ({ nonce }) => nonce },
            { head: 'Signed', cell: ({ signedAt }) => signedAt },
          ]}
        />
      )}
    </section>
  )
}

function Data({ data }: { data: object }) {
  const shown = Object.entries(data).filter(([, value]) => value !== null)
  if (shown.length === 0) return null
  return <code className="quiet">{shown.map(([name, value]) => `${name} ${value}`).join(', ')}</code>
}
