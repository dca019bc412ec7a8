import { hexToBigInt } from 'viem'
import { amountText, reasonOf, type SimulatedCall, transfersOf } from './outcome.js'

/** What became of one call. */
export function CallOutcome({ outcome }: { outcome: SimulatedCall }) {
  const reason = reasonOf(outcome)
  const transfers = transfersOf(outcome)
  return (
    <>
      <p className={reason === undefined ? 'good' : 'bad'}>
        {reason === undefined ? 'Succeeds' : `Fails: ${reason}`}
        <span className="quiet"> · {hexToBigInt(outcome.gasUsed).toLocaleString('en')} gas</span>
      </p>
      {transfers.length > 0 && (
        <table>
          <caption>What changes hands, as the logs say</caption>
          <thead>
            <tr>
              <th scope="col">Amount</th>
              <th scope="col">From</th>
              <th scope="col">To</th>
            </tr>
          </thead>
          <tbody>
            {transfers.map((transfer, index) => (
              <tr key={index}>
                <td>
                  {amountText(transfer)}
                  {transfer.token && (
                    <>
                      {' of '}
                      <code>{transfer.token}</code>
                    </>
                  )}
                </td>
                <td>
                  <code>{transfer.from}</code>
                </td>
                <td>
                  <code>{transfer.to}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {outcome.returnData !== '0x' && (
        <details>
          <summary>Return data</summary>
          <pre>{outcome.returnData}</pre>
        </details>
      )}
      {outcome.logs.length > 0 && (
        <details>
          <summary>{outcome.logs.length === 1 ? '1 log' : `${outcome.logs.length} logs`}</summary>
          <pre>{JSON.stringify(outcome.logs, null, 2)}</pre>
        </details>
      )}
    </>
  )
}
