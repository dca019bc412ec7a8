import { x402Client, x402HTTPClient } from '@x402/core/client'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import type { PaymentPayload, PaymentRequired } from '@x402/core/types'
import type { ClientEvmSigner } from '@x402/evm'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import type { Hex } from 'viem'
import { call } from '../rpc.js'
import { type TokenTerms, tokenTerms } from './token-terms.js'

/** The gateway's offer for an answer. */
export interface Price {
  required: PaymentRequired
  network: `${string}:${string}`
  chainId: number
  asset: Hex
  terms: TokenTerms
  payTo: string
  /** Maximum charge, in the token's smallest unit. */
  maximum: bigint
}

/** A purchased answer. */
export interface Bought {
  answer: Record<string, unknown>
  /** Smallest unit; undefined if nothing was settled. */
  charged: bigint | undefined
  transaction: Hex | undefined
  /** The buyer's whole record: see `PaidExchange` of `@upfront/receipt`. */
  bill: object
}

/** Requests without payment. @throws Error if nothing is sold here, or the request is rejected */
export async function priceOf(url: string): Promise<Price> {
  const answer = await fetch(url)
  const header = answer.headers.get('payment-required')
  if (answer.status === 404) throw new Error('this gateway sells nothing: it runs without billing')
  if (header === null) throw new Error(await refusalOf(answer))
  const required = decodePaymentRequiredHeader(header)
  const offer = required.accepts.find(({ scheme }) => scheme === 'upto')
  if (offer === undefined) throw new Error('the gateway offers no payment by use')
  const asset = offer.asset as Hex
  return {
    required,
    network: offer.network,
    chainId: Number(offer.network.split(':')[1]),
    asset,
    terms: await tokenTerms(asset),
    payTo: offer.payTo,
    maximum: BigInt(offer.amount),
  }
}

/** Signs the maximum of this price, and no more. @throws Error if the payer refuses */
export function sign({ required, network, asset, maximum }: Price, signer: ClientEvmSigner): Promise<PaymentPayload> {
  const limit = { network, asset, maxAmountPerPayment: maximum.toString() }
  return new x402Client()
    .register(network, new UptoEvmScheme(signer, { rpcUrl: `${location.origin}/` }))
    .setSpendControls({ allowedAssets: [limit] })
    .createPaymentPayload(required)
}

/** Repeats the request with the signed payment. */
export async function buy(url: string, payment: PaymentPayload, offer: PaymentRequired): Promise<Bought> {
  const headers = new x402HTTPClient(new x402Client()).encodePaymentSignatureHeader(payment)
  const response = await fetch(url, { headers })
  const header = response.headers.get('payment-response')
  const settled = header === null ? undefined : decodePaymentResponseHeader(header)
  if (settled === undefined && !response.ok) throw new Error(await refusalOf(response))
  const answer = (await response.json()) as Record<string, unknown>
  return {
    answer,
    bill: {
      request: { url: new URL(url, location.origin).href },
      ...{ answer, offer, payment, settlement: settled },
      seller: await documentOf(fetch('/.well-known/upfront.json').then((seller) => seller.json())),
      // For chains whose rules are not known by id.
      chain: await documentOf(call('eth_config', []).then(({ result }) => result)),
    },
    charged: settled?.amount === undefined ? undefined : BigInt(settled.amount),
    transaction: settled?.transaction ? (settled.transaction as Hex) : undefined,
  }
}

/** Undefined if unavailable: then less of the bill can be checked. */
function documentOf<T>(asked: Promise<T>): Promise<T | undefined> {
  return asked.catch(() => undefined)
}

/** The block in which a transaction was mined; undefined if it is not mined yet. */
export async function minedIn(hash: Hex): Promise<bigint | undefined> {
  const { result } = await call<{ blockNumber: Hex } | null>('eth_getTransactionReceipt', [hash])
  return result === null ? undefined : BigInt(result.blockNumber)
}

async function refusalOf(response: Response): Promise<string> {
  const { error } = (await response.json().catch(() => ({}))) as { error?: string | { message?: string } }
  const why = typeof error === 'string' ? error : error?.message
  return why ?? `the gateway answered ${response.status}`
}
