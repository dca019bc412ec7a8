import type { TokenTerms } from '../pay/token-terms.js'
import { Table } from '../table.js'
import { type Payment, STUCK_STATES } from './ledger.js'

interface Props {
  payments: Payment[]
  /** By the token's address. */
  tokens: ReadonlyMap<string, TokenTerms>
  onChosen(payment: Payment): void
}

/** The payments, each with a button for its history. */
export function Payments({ payments, tokens, onChosen }: Props) {
  const stuck = payments.filter(({ state }) => STUCK_STATES.includes(state)).length
  const inWords = ({ asset, charge }: Payment) => (charge === null ? '' : tokens.get(asset)?.inWords(BigInt(charge)))
  return (
    <Table
      caption={`Payments: ${stuck} under way, oldest first, then failed ones, then the newest`}
      rows={payments}
      rowKey={({ id }) => id}
      columns={[
        {
          head: 'State',
          cell: ({ state, reason }) => (
            <span className={state === 'failed' ? 'bad' : undefined}>
              {state}
              {reason && `: ${reason}`}
            </span>
          ),
        },
        { head: 'Charge', cell: inWords },
        { head: 'Route', cell: ({ route }) => route },
        { head: 'Payer', cell: ({ payer }) => <code>{payer}</code> },
        { head: 'Since', cell: ({ createdAt }) => createdAt },
        {
          head: 'History',
          cell: (payment) => (
            <button type="button" onClick={() => onChosen(payment)}>
              {payment.id}
            </button>
          ),
        },
      ]}
    />
  )
}
