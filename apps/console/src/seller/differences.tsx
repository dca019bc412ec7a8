import type { Reconciliation } from './ledger.js'

/** Where the ledger and the chain disagree. */
export function Differences({ settledPayments, openPayments, differences }: Reconciliation) {
  return (
    <div role="status">
      <p className={differences.length === 0 ? 'good' : 'bad'}>
        {differences.length === 0 ? 'No differences' : `${differences.length} differences`}: {settledPayments} settled
        payments compared, {openPayments} under way
      </p>
      <ul>
        {differences.map(({ kind, paymentId, transaction, ledgerAmount, chainAmount }) => (
          <li key={`${paymentId} ${transaction}`}>
            {kind}: payment <code>{paymentId ?? 'unknown'}</code>, ledger {ledgerAmount ?? 'nothing'}, chain{' '}
            {chainAmount ?? 'nothing'}, transaction <code>{transaction ?? 'none'}</code>
          </li>
        ))}
      </ul>
    </div>
  )
}
