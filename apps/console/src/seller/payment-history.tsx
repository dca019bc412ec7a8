import { Drawer } from '@mantine/core'
import { Hash } from '../parts/address.js'
import { Json } from '../parts/code.js'
import { Notice } from '../parts/notice.js'
import { Table } from '../parts/table.js'
import { Time } from '../parts/time.js'
import type { PaymentHistory } from './ledger.js'

/** Everything that happened to one payment, in a drawer beside the table. */
export function History({ history, onClose }: { history: PaymentHistory | undefined; onClose(): void }) {
  return (
    <Drawer
      opened={history !== undefined}
      onClose={onClose}
      position="right"
      size="xl"
      lockScroll={false}
      transitionProps={{ duration: 0 }}
      closeButtonProps={{ 'aria-label': 'Close' }}
      // A banner is the page's alone.
      attributes={{ header: { role: 'presentation' } }}
      title={history && `Payment ${history.payment.id}: ${history.payment.state}`}
    >
      {history && <Events {...history} />}
    </Drawer>
  )
}

function Events({ payment, events, transactions, waitsFor }: PaymentHistory) {
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

function Data({ data }: { data: object }) {
  const shown = Object.entries(data).filter(([, value]) => value !== null)
  if (shown.length === 0) return null
  return (
    <span className="quiet">
      {shown.map(([name, value], at) => (
        <span key={name}>
          {at > 0 && ', '}
          {name} {String(value).length > 20 ? <Hash value={String(value)} /> : String(value)}
        </span>
      ))}
    </span>
  )
}
