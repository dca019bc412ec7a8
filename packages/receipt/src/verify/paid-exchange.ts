import { type Dialect, decodeList, decodeObject, decodeText, refuseUnknownFields } from '@upfront/protocol'
import type { Engine } from '@upfront/simulation'
import { RECEIPT_METHODS, type ReceiptMethod } from '../receipt.js'

export interface VerifyOptions {
  /** The engine for executing again; by default the portable build. It is not closed. */
  engine?: Engine
  /** The seller's receipt key, if the buyer knows it from elsewhere. */
  signer?: string
}

/** A buyer's record of one paid request, as JSON. Only `request` and `answer` are required; without the rest, less can be checked. */
export interface PaidExchange {
  /** As sent. A preview has no `body`. */
  request: { url: string; body?: unknown }
  /** Body of the answer. */
  answer: unknown
  /** The decoded PAYMENT-REQUIRED header of the 402. */
  offer?: unknown
  /** The decoded PAYMENT-SIGNATURE header. */
  payment?: unknown
  /** The decoded PAYMENT-RESPONSE header. */
  settlement?: unknown
  /** The seller's `/.well-known/upfront.json`. */
  seller?: unknown
  /** For chains whose id is not known: the genesis file, or the answer of a trusted node to `eth_config` (EIP-7910). */
  chain?: unknown
}

/** x402's PAYMENT-RESPONSE, unchecked. */
export interface Settlement {
  success: unknown
  amount: unknown
  payer: unknown
  network: unknown
  transaction: unknown
  errorReason?: unknown
  extensions?: Record<string, { info?: { receipt?: unknown } }>
}

/** One call of a paid request, with its answer. */
export interface PaidCall {
  /** `call 2` in a batch, else `answer`. */
  name: string
  method: ReceiptMethod
  /** The requested method, if its answer shows the simulation in another shape. */
  shownAs?: string
  params: unknown
  /** Undefined if the request leaves it to the seller's default. */
  dialect: Dialect | undefined
  /** Whether the request asks for a witness. */
  wantsWitness: boolean
  result: unknown
  charge: unknown
  receipt: unknown
  witness: unknown
}

const DOCUMENTS = ['request', 'answer', 'offer', 'payment', 'settlement', 'seller', 'chain'] as const

/** @throws Error that names the field */
export function decodePaidExchange(value: unknown): PaidExchange {
  const exchange = decodeObject(value, 'the file')
  refuseUnknownFields(exchange, 'the file', DOCUMENTS)
  const request = decodeObject(exchange.request, 'request')
  refuseUnknownFields(request, 'request', ['url', 'body'])
  const url = decodeText(request.url, /^https?:\/\//, 'request.url')
  if (!URL.canParse(url)) throw new Error('request.url: expected a URL')
  if (exchange.answer === undefined) throw new Error('answer: is missing')
  return exchange as unknown as PaidExchange
}

/** The calls that were served; refused calls cost nothing. @throws Error that names the field that does not match */
export function paidCallsOf({ request, answer }: PaidExchange): PaidCall[] {
  const { searchParams, pathname } = new URL(request.url)
  const wantsWitness = searchParams.get('witness') === '1'
  if (request.body === undefined) return [previewCall(searchParams, wantsWitness, decodeObject(answer, 'answer'))]
  const named = /(?:^|\/)ethereum\/v1\/simulate$/.test(pathname) ? 'ethereum' : searchParams.get('dialect')
  const asks = { dialect: (named ?? undefined) as Dialect | undefined, wantsWitness }
  if (!Array.isArray(request.body)) return rpcCall(request.body, answer, asks, 'answer')
  const asked = request.body.filter((entry) => (entry as { id?: unknown } | null)?.id !== undefined)
  const answers = decodeList(answer, 'answer')
  if (asked.length !== answers.length)
    throw new Error(`answer: expected ${asked.length} answers, got ${answers.length}`)
  return asked.flatMap((entry, index) => rpcCall(entry, answers[index], asks, `call ${index + 1}`))
}

function previewCall(
  query: URLSearchParams,
  wantsWitness: boolean,
  { charge, receipt, witness, ...result }: Record<string, unknown>,
): PaidCall {
  const { witness: _, ...params } = Object.fromEntries(query)
  const asked = { name: 'answer', method: 'preview', params, dialect: 'upfront', wantsWitness } as const
  return { ...asked, result, charge, receipt, witness }
}

function rpcCall(
  asked: unknown,
  answered: unknown,
  asks: Pick<PaidCall, 'dialect' | 'wantsWitness'>,
  name: string,
): PaidCall[] {
  const { id, method, params } = decodeObject(asked, 'request.body')
  const answer = decodeObject(answered, name)
  refuseUnknownFields(answer, name, ['jsonrpc', 'id', 'result', 'error', 'charge', 'receipt', 'witness', 'simulation'])
  if (answer.jsonrpc !== '2.0' || answer.id !== id)
    throw new Error(`${name}: is not the answer to request ${String(id)}`)
  const { result, charge, receipt, witness } = answer
  if (answer.simulation !== undefined) return [shownCall(String(method), answer, asks, name)]
  const sold = RECEIPT_METHODS.find((name) => name === method && name !== 'preview')
  if (sold === undefined) {
    if ((charge ?? receipt ?? witness) !== undefined) throw new Error(`${name}: ${String(method)} is free`)
    return []
  }
  if (answer.error !== undefined) {
    if ((result ?? charge ?? receipt ?? witness) !== undefined) throw new Error(`${name}: is an error with a result`)
    return []
  }
  return [{ ...asks, name, method: sold, params, result, charge, receipt, witness }]
}

/** A call answered in another service's format. The sold `upfront_simulate` result is next to it in the answer. */
function shownCall(
  shownAs: string,
  { simulation, charge, receipt, witness }: Record<string, unknown>,
  { wantsWitness }: Pick<PaidCall, 'wantsWitness'>,
  name: string,
): PaidCall {
  const shown = decodeObject(simulation, `${name}.simulation`)
  refuseUnknownFields(shown, `${name}.simulation`, ['method', 'params', 'result'])
  if (shown.method !== 'upfront_simulate') throw new Error(`${name}.simulation.method: expected upfront_simulate`)
  const { params, result } = shown
  return {
    name,
    method: 'upfront_simulate',
    shownAs,
    params,
    dialect: 'ethereum',
    wantsWitness,
    result,
    charge,
    receipt,
    witness,
  }
}
