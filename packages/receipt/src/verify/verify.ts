import { type Address, decodeInspection } from '@upfront/protocol'
import type { Engine, TouchedList } from '@upfront/simulation'
import { authorizationHash, type Permit2Authorization } from '../bill/authorization-hash.js'
import type { ChargeStatement } from '../bill/charge-statement.js'
import { gasBesideCalls } from '../bill/gas-beside-calls.js'
import { gasByCall } from '../bill/gas-by-call.js'
import { decodePriceList, meter } from '../bill/price-list.js'
import { decodeObject } from '../fields.js'
import { jsonHash } from '../json-hash.js'
import { previewOf } from '../preview/preview.js'
import { previewParams } from '../preview/preview-request.js'
import { decodeReceipt, NO_WITNESS, type SignedReceipt, signerOf } from '../receipt.js'
import { prove, proveHeaders } from '../witness/prove.js'
import { type DecodedWitness, decodeWitness, witnessTouched } from '../witness/witness.js'
import { type Check, check, demandEqual, Unchecked } from './check.js'
import { decodePaidExchange, type PaidCall, type PaidExchange, paidCallsOf } from './paid-exchange.js'
import { describe, engineFor, replay } from './replay.js'

export interface VerifyOptions {
  /** Executes again; by default EthereumJS, on OP-stack chains the native engine. It is left open. */
  engine?: Engine
  /** The seller's receipt key, where the buyer knows it from elsewhere. */
  signer?: string
}

/** A paid request, checked call by call; `payment` is about all of them together. */
export interface Verification {
  calls: { name: string; checks: Check[] }[]
  payment: Check[]
  /** Nothing is wrong. What could not be checked is no fault. */
  isRight: boolean
}

/**
 * Checks the bill of a paid request offline: signatures, hashes, proofs, and by executing it again gas, touched state and amount.
 * @param value see `PaidExchange`
 * @throws Error where it is none, naming the field
 */
export async function verify(value: unknown, options: VerifyOptions = {}): Promise<Verification> {
  const exchange = decodePaidExchange(value)
  const calls = paidCallsOf(exchange)
  const checked: Verification['calls'] = []
  for (const call of calls) checked.push({ name: call.name, checks: await checkCall(call, exchange, options) })
  const payment = [await check('payment', () => paymentOf(calls, exchange))]
  const all = [...checked.flatMap(({ checks }) => checks), ...payment]
  return { calls: checked, payment, isRight: all.every(({ outcome }) => outcome !== 'wrong') }
}

async function checkCall(call: PaidCall, exchange: PaidExchange, options: VerifyOptions): Promise<Check[]> {
  let receipt: SignedReceipt
  try {
    if (call.receipt === undefined) throw new Error('the answer has no receipt')
    receipt = decodeReceipt(call.receipt)
  } catch (error) {
    return [{ name: 'receipt', outcome: 'wrong', detail: (error as Error).message }]
  }
  const { method, dialect, params } = call
  const checks = [
    await check('signature', () => signatureOf(receipt, exchange, options)),
    await check('request', () => {
      demandEqual(receipt.method, method, 'method')
      if (dialect !== undefined) demandEqual(receipt.dialect, dialect, 'dialect')
      demandEqual(jsonHash({ method, params }), receipt.requestHash, 'requestHash')
      return `${method}, ${receipt.requestHash}`
    }),
    await check('result', () => {
      demandEqual(jsonHash(call.result), receipt.resultHash, 'resultHash')
      return receipt.resultHash
    }),
    await check('price list', () => priceListOf(call, receipt, exchange)),
    await check('charge', () => chargeOf(call, receipt)),
  ]
  if (call.witness === undefined && receipt.witnessHash === NO_WITNESS) {
    const detail = 'the answer has no witness: the usage is as the seller says (ask with witness=1)'
    return [...checks, { name: 'execution', outcome: 'unchecked', detail }]
  }
  let witness: DecodedWitness | undefined
  checks.push(
    await check('witness', async () => {
      demandEqual(jsonHash(call.witness), receipt.witnessHash, 'witnessHash')
      demandEqual(Buffer.byteLength(JSON.stringify(call.witness)), receipt.usage.witnessBytes, 'usage.witnessBytes')
      const decoded = decodeWitness(call.witness)
      demandEqual(decoded.rules.chainId.toString(), receipt.block.chainId, 'witness.rules.chainId')
      demandEqual(decoded.base.hash, receipt.block.hash, 'witness.base.hash')
      demandEqual(decoded.base.number.toString(), receipt.block.number, 'witness.base.number')
      demandEqual(decoded.opening === undefined, receipt.block.state === 'canonical', 'witness.opening: absence')
      witness = decoded
      return `${decoded.accounts.size} accounts, ${slotsOf(decoded)} slots`
    }),
  )
  if (witness === undefined) return checks
  const used = witness
  checks.push(await check('state', () => stateOf(used, receipt)))
  checks.push(await check('execution', () => executionOf(call, receipt, used, options)))
  return checks
}

async function signatureOf(
  receipt: SignedReceipt,
  { seller }: PaidExchange,
  { signer }: VerifyOptions,
): Promise<string> {
  demandEqual(await signerOf(receipt), receipt.signer, 'signer')
  const signed = `signed by ${receipt.signer} at ${new Date(receipt.issuedAt * 1_000).toISOString()}`
  if (signer !== undefined) demandEqual(receipt.signer, signer.toLowerCase(), 'signer')
  if (seller === undefined) return signer === undefined ? `${signed}; whose key that is was not looked up` : signed
  const keys = decodeObject(seller, 'seller').receiptKeys
  const key = (Array.isArray(keys) ? keys : []).find((known) => known?.address === receipt.signer)
  if (key === undefined) throw new Error(`signer: ${receipt.signer} is no key of the seller`)
  if (key.until !== undefined && receipt.issuedAt > key.until) throw new Error('issuedAt: the key was retired before')
  return `${signed}, a key of the seller`
}

function priceListOf({ charge }: PaidCall, receipt: SignedReceipt, { offer }: PaidExchange): string {
  const { priceList } = decodeObject(charge, 'charge') as unknown as ChargeStatement
  decodePriceList(JSON.stringify(priceList))
  demandEqual(jsonHash(priceList), receipt.priceListHash, 'priceListHash')
  if (offer === undefined) return `version ${priceList.version}`
  const terms = (offer as { extensions?: Record<string, { info?: { priceListHash?: unknown } }> }).extensions?.[
    'charge-terms'
  ]
  demandEqual(terms?.info?.priceListHash, receipt.priceListHash, 'offer: priceListHash')
  return `version ${priceList.version}, as offered`
}

/** That charge and receipt say the same, and that the amount follows from the usage they state. */
function chargeOf({ charge }: PaidCall, receipt: SignedReceipt): string {
  const { amount, maximum, asset, network, usage, priceList, ...others } = decodeObject(
    charge,
    'charge',
  ) as unknown as ChargeStatement
  const { gas, accounts, slots, witnessBytes } = receipt.usage
  const total = gas.reduce((sum, used) => sum + BigInt(used), 0n)
  demandEqual(Object.keys(others).join(), '', 'charge: further fields')
  demandEqual(amount, receipt.amount, 'charge.amount')
  demandEqual(maximum, receipt.maximum, 'charge.maximum')
  demandEqual(String(asset).toLowerCase(), receipt.asset, 'charge.asset')
  demandEqual(network, receipt.network, 'charge.network')
  demandEqual(jsonHash(usage), jsonHash({ gas: total.toString(), accounts, slots, witnessBytes }), 'charge.usage')
  const left = BigInt(maximum) - BigInt(receipt.chargedBefore)
  const due = meter({ gas: total, accounts, slots, witnessBytes }, priceList, receipt.decimals, left)
  demandEqual(amount, due.toString(), 'amount')
  return `${amount} of at most ${maximum} (smallest unit of ${receipt.asset} on ${network})`
}

async function stateOf(witness: DecodedWitness, { block }: SignedReceipt): Promise<string> {
  const { unproven, base, nodes, ancestors } = witness
  const isCanonical = block.state === 'canonical'
  if (!isCanonical || unproven !== undefined) {
    demandEqual(nodes.length + ancestors.length, 0, 'witness: nodes and headers that prove nothing')
    if (isCanonical) proveHeaders({ ...witness, blockHashes: new Map() })
    throw new Unchecked(
      isCanonical
        ? `not proven: ${unproven}`
        : `${block.state} state on block ${base.number}: no header commits to it yet`,
    )
  }
  demandEqual(nodes.length, (await prove(witness)).length, 'witness.nodes: how many')
  return `all values proven under the state root of block ${base.number} (${base.hash})`
}

async function executionOf(
  { method, params, result }: PaidCall,
  receipt: SignedReceipt,
  witness: DecodedWitness,
  options: VerifyOptions,
): Promise<string> {
  const engine = options.engine ?? engineFor(witness)
  try {
    const { dialect } = receipt
    const asked =
      method === 'eth_simulateV1' ? { params } : decodeInspection(method === 'preview' ? previewParams(params) : params)
    const { blocks, furtherGas, touched, unneeded } = await replay(witness, { ...asked, dialect }, engine)
    const ofCalls = gasByCall(blocks)
    const resultBytes = Buffer.byteLength(JSON.stringify(blocks))
    const gas = [...ofCalls, ...gasBesideCalls(method, { furtherGas, resultBytes })]
    demandEqual(gas.join(', '), receipt.usage.gas.join(', '), 'usage.gas')
    demandTouched(touched, witness)
    demandEqual(touched.accounts.length, receipt.usage.accounts, 'usage.accounts')
    demandEqual(touched.slots.length, receipt.usage.slots, 'usage.slots')
    if (unneeded[0] !== undefined) throw new Error(`witness: ${describe(unneeded[0])} is not needed`)
    const again = method === 'preview' ? previewOf(blocks, receipt.block) : blocks
    const place = firstDifference(result, again)
    if (place !== undefined) throw new Error(`result${place}: is not what execution gives`)
    const total = gas.reduce((sum, used) => sum + BigInt(used), 0n)
    return `${engine.name}: ${total} gas in ${ofCalls.length === 1 ? '1 call' : `${ofCalls.length} calls`}, ${touched.accounts.length} accounts, ${touched.slots.length} slots, the same result`
  } finally {
    if (options.engine === undefined) await engine.close()
  }
}

/** @throws Error that names what only one of execution and witness lists */
function demandTouched(touched: TouchedList, witness: DecodedWitness): void {
  const { accounts, slots } = witnessTouched(touched)
  demandSameList(witness.touched.accounts, accounts, 'witness.touched.accounts')
  demandSameList(Object.keys(witness.touched.slots), Object.keys(slots), 'witness.touched.slots')
  for (const [address, listed] of Object.entries(witness.touched.slots))
    demandSameList(listed, slots[address as Address] ?? [], `witness.touched.slots.${address}`)
}

function demandSameList(got: readonly string[], expected: readonly string[], field: string): void {
  const [listed, touched] = [new Set(got), new Set(expected)]
  const over = got.find((item) => !touched.has(item))
  if (over !== undefined) throw new Error(`${field}: ${over} is not touched`)
  const missing = expected.find((item) => !listed.has(item))
  if (missing !== undefined) throw new Error(`${field}: ${missing} is missing`)
  demandEqual(got.join(), expected.join(), field)
}

/** That the calls add up to what was paid, under the authorization that was signed. */
function paymentOf(calls: readonly PaidCall[], { payment, settlement }: PaidExchange): string {
  let total = 0n
  const receipts = calls.map(({ receipt }) => receipt as SignedReceipt)
  for (const [index, { chargedBefore, amount, nonce, payer }] of receipts.entries()) {
    const at = calls[index]!.name
    demandEqual(chargedBefore, total.toString(), `${at}: chargedBefore`)
    demandEqual(nonce, receipts[0]!.nonce, `${at}: nonce`)
    demandEqual(payer, receipts[0]!.payer, `${at}: payer`)
    total += BigInt(amount)
  }
  if (settlement !== undefined)
    demandEqual((settlement as { amount?: unknown }).amount, total.toString(), 'settlement.amount')
  const paid = `${total} in all${settlement === undefined ? '' : ', as settled'}`
  if (payment === undefined) return paid
  const { payload } = decodeObject(payment, 'payment')
  const { permit2Authorization } = decodeObject(payload, 'payment.payload')
  const authorization = decodeObject(permit2Authorization, 'payment.payload.permit2Authorization')
  for (const { network, authorizationHash: stated, nonce, payer, maximum } of receipts) {
    const signed = authorization as unknown as Permit2Authorization
    demandEqual(authorizationHash(network, signed), stated, 'authorizationHash')
    demandEqual(signed.nonce, nonce, 'nonce')
    demandEqual(signed.from.toLowerCase(), payer, 'payer')
    demandEqual(signed.permitted.amount, maximum, 'maximum')
  }
  return `${paid}, under the authorization that the buyer signed`
}

function slotsOf({ accounts }: DecodedWitness): number {
  return [...accounts.values()].reduce((sum, { storage }) => sum + storage.size, 0)
}

/** Where two JSON values first differ, such as `[0].calls[1].gasUsed`; undefined where they don't. */
function firstDifference(one: unknown, other: unknown): string | undefined {
  if (Object.is(one, other)) return undefined
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return ''
  if (Array.isArray(one) !== Array.isArray(other)) return ''
  for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const below = firstDifference((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name])
    if (below !== undefined) return (Array.isArray(one) ? `[${name}]` : `.${name}`) + below
  }
  return undefined
}
