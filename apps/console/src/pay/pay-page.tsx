import { Button, Loader } from '@mantine/core'
import type { ClientEvmSigner } from '@x402/evm'
import { useState } from 'react'
import { type Hex, toHex } from 'viem'
import { chainName } from '../chain/chain-names.js'
import { handBill, saveBill } from '../check/bill.js'
import { CallForm } from '../look/call-form.js'
import { Fault, reveal } from '../look/field.js'
import { Address, Hash } from '../parts/address.js'
import { Json } from '../parts/code.js'
import { Notice } from '../parts/notice.js'
import { type CallDraft, EMPTY_CALL } from '../request/draft.js'
import { DraftError, FieldLabel } from '../request/draft-error.js'
import { callOf } from '../request/payload.js'
import { goTo } from '../shell/route.js'
import { useWallets } from '../wallet.js'
import { LOCAL_CHAIN, testPayer, walletPayer } from './payer.js'
import { PreviewAnswer } from './preview-answer.js'
import { type Bought, buy, minedIn, type Price, priceOf, sign } from './purchase.js'

const MINED_RETRY_MS = 1_000

/** Buys one answer: shows the price, the signed maximum, the charge, and the receipt. */
export function PayPage() {
  const [draft, setDraft] = useState<CallDraft>(EMPTY_CALL)
  const [offered, setOffered] = useState<{ url: string; price: Price }>()
  const [signed, setSigned] = useState<Hex>()
  const [bought, setBought] = useState<Bought>()
  const [mined, setMined] = useState<bigint>()
  const [busy, setBusy] = useState<string>()
  const [fault, setFault] = useState<Error>()

  const attempt = async (what: string, work: () => Promise<void>) => {
    setBusy(what)
    setFault(undefined)
    try {
      await work()
    } catch (error) {
      setFault(error as Error)
      setTimeout(() => reveal((error as DraftError).field))
    }
    setBusy(undefined)
  }
  const forget = () => {
    for (const reset of [setOffered, setSigned, setBought, setMined, setFault]) reset(undefined)
  }
  const ask = () =>
    attempt('Getting the price …', async () => {
      forget()
      const url = `/v1/preview?${queryOf(draft)}`
      setOffered({ url, price: await priceOf(url) })
    })
  const pay = (signer: () => Promise<ClientEvmSigner>, { url, price }: { url: string; price: Price }) =>
    attempt('Waiting for the signature …', async () => {
      const payment = await sign(price, await signer())
      setSigned((payment.payload as { permit2Authorization: { from: Hex } }).permit2Authorization.from)
      setBusy('Paying …')
      const outcome = await buy(url, payment, price.required)
      setBought(outcome)
      if (outcome.transaction === undefined) return
      setBusy('Waiting until the payment is mined …')
      for (let block = await minedIn(outcome.transaction); ; block = await minedIn(outcome.transaction)) {
        if (block !== undefined) return setMined(block)
        await new Promise((resolve) => setTimeout(resolve, MINED_RETRY_MS))
      }
    })

  return (
    <Fault value={fault instanceof DraftError ? fault : undefined}>
      <p className="lead">
        What would a call do, on the newest state? You sign a maximum; only what the answer took is charged.
      </p>
      <div className="look">
        <form
          className="card stack"
          onSubmit={(event) => {
            event.preventDefault()
            ask()
          }}
        >
          <CallForm
            number={1}
            field="pay"
            call={draft}
            onEdit={(call) => {
              setDraft(call)
              // Another call has another price and answer.
              forget()
            }}
          />
          <div>
            <Button type="submit" variant={offered ? 'default' : 'filled'}>
              Ask for the price
            </Button>
          </div>
          {fault !== undefined && (
            <Notice level="danger" role="alert">
              {fault.message}
            </Notice>
          )}
        </form>
        <section className="card result stack wider" aria-label="Purchase" aria-live="polite">
          {busy !== undefined && (
            <p className="row" role="status">
              <Loader size="sm" /> {busy}
            </p>
          )}
          {offered === undefined && busy === undefined && (
            <p className="quiet">The price comes first, then your signature, then the answer with its receipt.</p>
          )}
          {offered && <Offer {...offered} busy={busy !== undefined} signed={signed} onPay={(by) => pay(by, offered)} />}
          {offered && bought && <Outcome bought={bought} price={offered.price} mined={mined} />}
        </section>
      </div>
    </Fault>
  )
}

interface OfferProps {
  price: Price
  busy: boolean
  signed: Hex | undefined
  onPay(signer: () => Promise<ClientEvmSigner>): void
}

function Offer({ price, busy, signed, onPay }: OfferProps) {
  const wallets = useWallets()
  const { chainId, terms, maximum, payTo, required } = price
  return (
    <section aria-labelledby="price" className="stack">
      <h2 id="price">Before: at most {terms.inWords(maximum)}</h2>
      <p>
        To <Address value={payTo} /> on {chainName(chainId)}
        {required.resource?.description && `: ${required.resource.description}`}
      </p>
      {signed ? (
        <p>
          Signed by <Address value={signed} />: at most {terms.inWords(maximum)}
        </p>
      ) : (
        <div className="row">
          {wallets.map((wallet) => (
            <Button
              key={wallet.id}
              className="wraps"
              disabled={busy}
              onClick={() => onPay(() => walletPayer(wallet, chainId))}
            >
              Sign and pay with {wallet.name}
            </Button>
          ))}
          {chainId === LOCAL_CHAIN && (
            <Button
              className="wraps"
              disabled={busy}
              variant={wallets.length > 0 ? 'default' : 'filled'}
              onClick={() => onPay(async () => testPayer())}
            >
              Sign and pay with the local chain’s test key
            </Button>
          )}
          {wallets.length === 0 && chainId !== LOCAL_CHAIN && <p>This browser has no wallet to sign with.</p>}
        </div>
      )}
    </section>
  )
}

function Outcome({ bought, price, mined }: { bought: Bought; price: Price; mined: bigint | undefined }) {
  const { receipt, witness: _, ...answer } = bought.answer
  return (
    <section aria-labelledby="charge" className="stack">
      <h2 id="charge">
        After: {bought.charged === undefined ? 'nothing was charged' : `charged ${price.terms.inWords(bought.charged)}`}
      </h2>
      {bought.transaction && (
        <p>
          Transaction <Hash value={bought.transaction} />
          {mined !== undefined && `, in block ${mined}`}
        </p>
      )}
      <PreviewAnswer answer={answer} />
      {receipt === undefined ? (
        <p>This seller signs no receipts.</p>
      ) : (
        <>
          <div className="row">
            <Button
              onClick={() => {
                handBill(bought.bill)
                goTo('/console/check')
              }}
            >
              Check this bill
            </Button>
            <Button variant="default" onClick={() => saveBill(bought.bill)}>
              Save it
            </Button>
          </div>
          <Json title="Receipt" value={receipt} />
        </>
      )}
    </section>
  )
}

/** @throws DraftError */
function queryOf(draft: CallDraft): string {
  const { from, to, value, input } = callOf(draft, new FieldLabel('Call 1', 'pay'))
  const fields = { from, to, value: value && toHex(BigInt(value)), data: input }
  const given = Object.entries(fields).flatMap(([name, text]) => (text === undefined ? [] : [[name, text]]))
  // With a witness the bill can be checked offline.
  return String(new URLSearchParams([...(given as [string, string][]), ['witness', '1']]))
}
