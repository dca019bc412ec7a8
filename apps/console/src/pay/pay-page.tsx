import { useState } from 'react'
import { type Hex, toHex } from 'viem'
import { Code } from '../code.js'
import { CallForm } from '../look/call-form.js'
import { type CallDraft, EMPTY_CALL } from '../request/draft.js'
import { callOf } from '../request/payload.js'
import { type PayerKind, payer, payerKinds } from './payer.js'
import { type Bought, buy, minedIn, type Price, priceOf, sign } from './purchase.js'

const MINED_RETRY_MS = 1_000
const KIND_NAMES = { wallet: 'with the browser’s wallet', 'test key': 'with the local chain’s test key' }

/** Buys one answer: the price before, the signed maximum, the charge after, the receipt. */
export function PayPage() {
  const [draft, setDraft] = useState<CallDraft>(EMPTY_CALL)
  const [offered, setOffered] = useState<{ url: string; price: Price }>()
  const [signed, setSigned] = useState<Hex>()
  const [bought, setBought] = useState<Bought>()
  const [mined, setMined] = useState<bigint>()
  const [busy, setBusy] = useState<string>()
  const [fault, setFault] = useState<string>()

  const attempt = async (what: string, work: () => Promise<void>) => {
    setBusy(what)
    setFault(undefined)
    try {
      await work()
    } catch (error) {
      setFault((error as Error).message)
    }
    setBusy(undefined)
  }
  const ask = () =>
    attempt('Asking for the price …', async () => {
      for (const forget of [setOffered, setSigned, setBought, setMined]) forget(undefined)
      const url = `/v1/preview?${queryOf(draft)}`
      setOffered({ url, price: await priceOf(url) })
    })
  const pay = (kind: PayerKind, { url, price }: { url: string; price: Price }) =>
    attempt('Waiting for the signature …', async () => {
      const payment = await sign(price, await payer(kind, price.chainId))
      setSigned((payment.payload as { permit2Authorization: { from: Hex } }).permit2Authorization.from)
      setBusy('Paying …')
      const outcome = await buy(url, payment)
      setBought(outcome)
      if (outcome.transaction === undefined) return
      setBusy('Waiting until the payment is mined …')
      for (let block = await minedIn(outcome.transaction); ; block = await minedIn(outcome.transaction)) {
        if (block !== undefined) return setMined(block)
        await new Promise((resolve) => setTimeout(resolve, MINED_RETRY_MS))
      }
    })

  return (
    <>
      <h2>Pay for an answer</h2>
      <p>What would a call do, on the newest state? You sign a maximum; only what the answer took is charged.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          ask()
        }}
      >
        <CallForm number={1} call={draft} onEdit={setDraft} onRemove={undefined} />
        <button type="submit">Ask for the price</button>
      </form>
      <p role="status">{busy}</p>
      {fault !== undefined && (
        <p className="bad" role="alert">
          {fault}
        </p>
      )}
      {offered && (
        <section aria-labelledby="price">
          <h3 id="price">Before: at most {offered.price.terms.inWords(offered.price.maximum)}</h3>
          <p>
            To <code>{offered.price.payTo}</code> on {offered.price.network}
            {offered.price.required.resource?.description && `: ${offered.price.required.resource.description}`}
          </p>
          <div className="buttons">
            {payerKinds(offered.price.chainId).map((kind) => (
              <button key={kind} type="button" disabled={busy !== undefined} onClick={() => pay(kind, offered)}>
                Sign and pay {KIND_NAMES[kind]}
              </button>
            ))}
          </div>
          {payerKinds(offered.price.chainId).length === 0 && <p>This browser has no wallet to sign with.</p>}
        </section>
      )}
      {offered && signed && (
        <p>
          Signed by <code>{signed}</code>: at most {offered.price.terms.inWords(offered.price.maximum)}
        </p>
      )}
      {offered && bought && <Outcome bought={bought} price={offered.price} mined={mined} />}
    </>
  )
}

function Outcome({ bought, price, mined }: { bought: Bought; price: Price; mined: bigint | undefined }) {
  const { receipt, charge: _, ...answer } = bought.answer
  return (
    <section aria-labelledby="charge">
      <h3 id="charge">
        After: {bought.charged === undefined ? 'nothing was charged' : `charged ${price.terms.inWords(bought.charged)}`}
      </h3>
      {bought.transaction && (
        <p>
          Transaction <code>{bought.transaction}</code>
          {mined !== undefined && `, in block ${mined}`}
        </p>
      )}
      <Json title="Answer" value={answer} isOpen />
      {receipt === undefined ? <p>This seller signs no receipts.</p> : <Json title="Receipt" value={receipt} />}
    </section>
  )
}

function Json({ title, value, isOpen = false }: { title: string; value: unknown; isOpen?: boolean }) {
  return (
    <details open={isOpen}>
      <summary>{title}</summary>
      <Code>{JSON.stringify(value, null, 2)}</Code>
    </details>
  )
}

/** @throws DraftError */
function queryOf(draft: CallDraft): string {
  const { from, to, value, input } = callOf(draft, 0)
  const fields = { from, to, value: value && toHex(BigInt(value)), data: input }
  const given = Object.entries(fields).flatMap(([name, text]) => (text === undefined ? [] : [[name, text]]))
  return String(new URLSearchParams(given as [string, string][]))
}
