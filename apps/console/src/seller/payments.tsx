import { Button } from '@mantine/core'
import { Address } from '../parts/address.js'
import { Table } from '../parts/table.js'
import { Time } from '../parts/time.js'
import type { TokenTerms } from '../pay/token-terms.js'
import { type LedgerPayment, STUCK_STATES } from './ledger.js'

interface Props {
  payments: LedgerPayment[]
  /** By token address. */
  tokens: ReadonlyMap<string, TokenTerms>
  onChosen(payment: LedgerPayment): void
}

/** A table of payments, each with a button for its history. */
export function Payments({ payments, tokens, onChosen }: Props) {
  const stuck = payments.filter(({ state }) => STUCK_STATES.includes(state)).length
  const inWords = ({ asset, charge }: LedgerPayment) =>
    charge === null ? '' : tokens.get(asset)?.inWords(BigInt(charge))
  return (
    <section className="card">
      <Table
        caption={`Payments: ${stuck} under way, oldest first, then failed ones, then the newest`}
        rows={payments}
        rowKey={({ id }) => id}
        columns={[
          {
            head: 'State',
            cell: ({ state, reason }) => (
              <span className={lookOf(state)}>
                {state}
                {reason && `: ${reason}`}
              </span>
            ),
          },
          { head: 'Charge', isNumber: true, cell: inWords },
          { head: 'Route', cell: ({ route }) => route },
          { head: 'Payer', cell: ({ payer }) => <Address value={payer} /> },
          { head: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
          {
            head: 'History',
            cell: (payment) => (
              <Button variant="default" size="compact-sm" title={payment.id} onClick={() => onChosen(payment)}>
                {payment.id.slice(0, 12)}…
              </Button>
            ),
          },
        ]}
      />
    </section>
  )
}

function lookOf(state: string): string | undefined {
  if (state === 'failed') return 'bad'
  if (state === 'settled') return 'good'
  return STUCK_STATES.includes(state) ? 'caution' : 'quiet'
}
