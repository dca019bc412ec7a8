import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Hex } from 'viem'
import { Notice } from '../parts/notice.js'
import { type TokenTerms, tokenTerms } from '../pay/token-terms.js'
import { Differences } from './differences.js'
import { Earnings } from './earnings.js'
import { Ledger, type LedgerPayment, type PaymentHistory, type Reconciliation, type Total } from './ledger.js'
import { History } from './payment-history.js'
import { Payments } from './payments.js'

interface Opened {
  ledger: Ledger
  totals: Total[]
  payments: LedgerPayment[]
  /** By token address. */
  tokens: ReadonlyMap<string, TokenTerms>
}

/** The ledger, for holders of a billing token. */
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
    <div className="stack wider">
      <p className="lead">What each route earned, what gas took of it, and every payment with its history.</p>
      <form
        className="card row"
        onSubmit={(event) => {
          event.preventDefault()
          open()
        }}
      >
        <TextInput
          className="grows"
          label="Billing’s read token, or its service token (kept until this page is closed)"
          type="password"
          autoComplete="off"
          value={token}
          onChange={({ target }) => setToken(target.value)}
        />
        <Button type="submit" variant={opened ? 'default' : 'filled'}>
          {opened ? 'Read again' : 'Open the ledger'}
        </Button>
      </form>
      {fault !== undefined && (
        <Notice level="danger" role="alert">
          {fault}
        </Notice>
      )}
      {opened && (
        <>
          {opened.totals.length === 0 && <p className="card">Nothing was sold yet.</p>}
          <Earnings {...opened} />
          <Payments
            {...opened}
            onChosen={({ id }) => attempt(async () => setHistory(await opened.ledger.history(id)))}
          />
          <History history={history} tokens={opened.tokens} onClose={() => setHistory(undefined)} />
          <section aria-labelledby="differences" className="card stack">
            <h2 id="differences">Differences with the chain</h2>
            <div>
              <Button
                variant="default"
                onClick={() => attempt(async () => setCompared(await opened.ledger.reconciliation()))}
              >
                Compare with the chain
              </Button>
            </div>
            {compared && <Differences {...compared} />}
          </section>
        </>
      )}
    </div>
  )
}
