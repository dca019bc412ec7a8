import { Hash } from '../parts/address.js'
import { Notice } from '../parts/notice.js'
import { Table } from '../parts/table.js'
import type { Reconciliation } from './ledger.js'

/** Differences between the ledger and the chain. */
export function Differences({ settledPayments, openPayments, differences }: Reconciliation) {
  const isSame = differences.length === 0
  return (
    <>
      <Notice level={isSame ? 'good' : 'danger'} role="status">
        {isSame ? 'No differences' : `${differences.length} differences`}: {settledPayments} settled payments compared,{' '}
        {openPayments} under way
      </Notice>
      {!isSame && (
        <Table
          caption="What differs"
          rows={differences}
          rowKey={(_, at) => at}
          columns={[
            { head: 'Kind', cell: ({ kind }) => kind },
            { head: 'Payment', cell: ({ paymentId }) => paymentId ?? 'unknown' },
            { head: 'Ledger', isNumber: true, cell: ({ ledgerAmount }) => ledgerAmount ?? 'nothing' },
            { head: 'Chain', isNumber: true, cell: ({ chainAmount }) => chainAmount ?? 'nothing' },
            { head: 'Transaction', cell: ({ transaction }) => (transaction ? <Hash value={transaction} /> : 'none') },
          ]}
        />
      )}
    </>
  )
}
