import { Wide } from '../wide.js'
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
        <Wide label="Transactions">
          <table>
            <caption>Transactions signed for it</caption>
            <thead>
              <tr>
                <th scope="col">Hash</th>
                <th scope="col">State</th>
                <th scope="col">Nonce</th>
                <th scope="col">Signed</th>
              </tr>
            </thead>
            <tbody>
              {transactions.map(({ hash, status, nonce, signedAt }) => (
                <tr key={hash}>
                  <td>
                    <code>{hash}</code>
                  </td>
                  <td>{status}</td>
                  <td>{nonce}</td>
                  <td>{signedAt}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      )}
    </section>
  )
}

function Data({ data }: { data: object }) {
  const shown = Object.entries(data).filter(([, value]) => value !== null)
  if (shown.length === 0) return null
  return <code className="quiet">{shown.map(([name, value]) => `${name} ${value}`).join(', ')}</code>
}
