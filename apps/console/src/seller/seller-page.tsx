import { useState } from 'react'
import { formatEther, formatUnits, type Hex } from 'viem'
import { type TokenTerms, tokenTerms } from '../pay/token-terms.js'
import { Table } from '../table.js'
import { EarningsChart } from './earnings-chart.js'
import { Ledger, type Payment, type PaymentHistory, type Reconciliation, STUCK_STATES, type Total } from './ledger.js'
import { marginOf } from './margin.js'
import { History } from './payment-history.js'

interface Opened {
  ledger: Ledger
  totals: Total[]
  payments: Payment[]
  /** By the token's address. */
  tokens: ReadonlyMap<string, TokenTerms>
}

/** The ledger for whoever has one of billing's tokens. */
export function SellerPage() {
  const [token, setToken] = useState('')
  const [opened, setOpened] = useState<Opened>()
  const [history, setHistory] = useState<PaymentHistory>()
  const [compared, setCompared] = useState<Reconciliation>()
  const [fault, setFault] = useState<string>()

  const attempt = async (work: () => Promise<void>) => {
    setFault(undefined)
    await work().catch((error: Error) => setFault(error.message))
  }
  const open = () =>
    attempt(async () => {
      const ledger = new Ledger(token)
      const [totals, payments] = await Promise.all([ledger.totals(), ledger.payments()])
      const assets = [...new Set(totals.map(({ asset }) => asset))]
      const terms = await Promise.all(assets.map(async (asset) => [asset, await tokenTerms(asset as Hex)] as const))
      setOpened({ ledger, totals, payments, tokens: new Map(terms) })
    })

  return (
    <>
      <h2>Seller</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          open()
        }}
      >
        <label>
          Billing’s read token, or its service token (kept until this page is closed)
          <input
            type="password"
            autoComplete="off"
            value={token}
            onChange={({ target: { value } }) => setToken(value)}
          />
        </label>
        <button type="submit">{opened ? 'Read again' : 'Open the ledger'}</button>
      </form>
      {fault !== undefined && (
        <p className="bad" role="alert">
          {fault}
        </p>
      )}
      {opened && (
        <>
          <Earnings {...opened} />
          <Payments
            {...opened}
            onChosen={({ id }) => attempt(async () => setHistory(await opened.ledger.history(id)))}
          />
          {history && <History {...history} />}
          <section aria-labelledby="differences">
            <h3 id="differences">Differences with the chain</h3>
            <button
              type="button"
              onClick={() => attempt(async () => setCompared(await opened.ledger.reconciliation()))}
            >
              Compare with the chain
            </button>
            {compared && <Differences {...compared} />}
          </section>
        </>
      )}
    </>
  )
}

function Earnings({ totals, tokens }: Opened) {
  const [price, setPrice] = useState('')
  return [...tokens].map(([asset, terms]) => {
    const own = totals.filter((total) => total.asset === asset)
    const settled = own.reduce((sum, total) => sum + BigInt(total.settled), 0n)
    const fees = own.reduce((sum, total) => sum + BigInt(total.feePaid), 0n)
    const margin = marginOf(settled, terms.decimals, fees, price)
    return (
      <section key={asset} aria-label={`Earned in ${terms.symbol}`}>
        <h3>
          Earned {terms.inWords(settled)} · gas {formatEther(fees)} ETH
        </h3>
        <label>
          Price of 1 ETH in {terms.symbol}, for the margin
          <input inputMode="decimal" value={price} onChange={({ target: { value } }) => setPrice(value)} />
        </label>
        {margin && (
          <p className={margin.isLoss ? 'bad' : 'good'}>
            Gas took {margin.shareOfGas} of what was earned: {margin.left} {terms.symbol} are left
          </p>
        )}
        <EarningsChart totals={own} inWords={terms.inWords} />
        <TotalsTable totals={own} terms={terms} />
      </section>
    )
  })
}

function TotalsTable({ totals, terms }: { totals: Total[]; terms: TokenTerms }) {
  const units = (amount: string) => formatUnits(BigInt(amount), terms.decimals)
  return (
    <Table
      caption={`By route and day (UTC), in ${terms.symbol}`}
      rows={totals}
      rowKey={({ day, route }) => `${day} ${route}`}
      columns={[
        { head: 'Day', cell: ({ day }) => day },
        { head: 'Route', cell: ({ route }) => route },
        { head: 'Payments', cell: ({ payments }) => payments },
        { head: 'Settled', cell: ({ settled }) => units(settled) },
        { head: 'Under way', cell: ({ pending }) => units(pending) },
        { head: 'Failed', cell: ({ failed }) => units(failed) },
        { head: 'Gas, ETH', cell: ({ feePaid }) => formatEther(BigInt(feePaid)) },
      ]}
    />
  )
}

function Payments({ payments, tokens, onChosen }: Opened & { onChosen(payment: Payment): void }) {
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

function Differences({ settledPayments, openPayments, differences }: Reconciliation) {
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
