import { useState } from 'react'
import type { Hex } from 'viem'
import { type TokenTerms, tokenTerms } from '../pay/token-terms.js'
import { Differences } from './differences.js'
import { Earnings } from './earnings.js'
import { Ledger, type Payment, type PaymentHistory, type Reconciliation, type Total } from './ledger.js'
import { History } from './payment-history.js'
import { Payments } from './payments.js'

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
