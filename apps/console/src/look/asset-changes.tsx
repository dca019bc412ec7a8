import { useId } from 'react'
import type { Address } from 'viem'
import { Table } from '../table.js'
import {
  amountText,
  approvalText,
  type AssetChanges as Changes,
  contradictedTransfers,
  isContradicted,
  isDoubtful,
} from './assets.js'
import { TransferPicture } from './transfer-picture.js'

/** What changes hands, and who may take what from now on: as a picture and as tables. */
export function AssetChanges({ changes, signer }: { changes: Changes; signer: Address }) {
  const { transfers, approvals } = changes
  const contradicted = contradictedTransfers(changes)
  const id = useId()
  if (transfers.length + approvals.length === 0) return null
  return (
    <>
      {isDoubtful(changes) && (
        <p className="bad">
          A token’s own balances are not what its logs say: don’t rely on the amounts marked with ⚠.
        </p>
      )}
      <TransferPicture changes={changes} signer={signer} tableId={id} />
      <div id={id}>
        {transfers.length > 0 && (
          <Table
            caption="What changes hands"
            rows={transfers}
            rowKey={(_, index) => index}
            columns={[
              {
                head: 'Amount',
                cell: (transfer) => (
                  <>
                    {contradicted.has(transfer) && (
                      <span className="bad">⚠ contradicted by the token’s balances: </span>
                    )}
                    {amountText(transfer, transfer.amount)}
                    {transfer.address && (
                      <>
                        {' of '}
                        <code>{transfer.address}</code>
                      </>
                    )}
                  </>
                ),
              },
              { head: 'From', cell: ({ from }) => <code>{from}</code> },
              { head: 'To', cell: ({ to }) => <code>{to}</code> },
            ]}
          />
        )}
        {approvals.length > 0 && (
          <Table
            caption="Who may take what from now on"
            rows={approvals}
            rowKey={(_, index) => index}
            columns={[
              { head: 'Spender', cell: ({ spender }) => <code>{spender}</code> },
              {
                head: 'May',
                cell: (approval) => (
                  <>
                    {isContradicted(approval) && <span className="bad">⚠ contradicted by the token: </span>}
                    {approvalText(approval)}
                  </>
                ),
              },
              { head: 'Of', cell: ({ owner }) => <code>{owner}</code> },
            ]}
          />
        )}
      </div>
    </>
  )
}
