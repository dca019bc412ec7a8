import { amountText, approvalText, type AssetChanges as Changes, isDoubtful } from './outcome.js'

/** What changes hands, and who may take what from now on. */
export function AssetChanges({ changes }: { changes: Changes }) {
  const { transfers, approvals } = changes
  return (
    <>
      {isDoubtful(changes) && (
        <p className="bad">A token’s own balances are not what its logs say: don’t rely on the amounts below.</p>
      )}
      {transfers.length > 0 && (
        <table>
          <caption>What changes hands</caption>
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
                  {amountText(transfer, transfer.amount)}
                  {transfer.address && (
                    <>
                      {' of '}
                      <code>{transfer.address}</code>
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
      {approvals.length > 0 && (
        <ul>
          {approvals.map((approval, index) => (
            <li key={index}>
              <code>{approval.spender}</code> may {approvalText(approval)} from <code>{approval.owner}</code>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
