import { type Address, decodeBlockParameter, decodeInspection, decodeObject, Place } from '@upfront/protocol'
import type { TouchedList } from '@upfront/simulation'
import type { ChargeStatement } from '../bill/charge-statement.js'
import { gasBesideCalls, gasByCall } from '../bill/gas.js'
import { decodePriceList, maximumOf, meter } from '../bill/price-list.js'
import { jsonHash } from '../json-hash.js'
import { type Preview, previewOf } from '../preview/preview.js'
import { previewParams } from '../preview/preview-request.js'
import { decodeReceipt, NO_WITNESS, type SignedReceipt, signerOf } from '../receipt.js'
import { prove, proveHeaders } from '../witness/prove.js'
import { type DecodedWitness, decodeWitness, witnessTouched } from '../witness/witness.js'
import { rulesKnown, rulesOf } from './chain-facts.js'
import { assertEqual, type Check, check, firstDifference, Unchecked } from './check.js'
import type { PaidCall, PaidExchange, VerifyOptions } from './paid-exchange.js'
import { describe, replay } from './replay.js'

/** Checks one call of a paid request: its receipt against the request, the answer, the offer and a new execution. */
export async function checkCall(call: PaidCall, exchange: PaidExchange, options: VerifyOptions): Promise<Check[]> {
  let receipt: SignedReceipt | undefined
  const read = await check('receipt', () => {
    if (call.receipt === undefined) throw new Unchecked('the answer has none: its price is not signed')
    receipt = decodeReceipt(call.receipt)
    return receipt.signature
  })
  if (receipt === undefined) return [read]
  const given = receipt
  const { method, dialect, params } = call
  const checks = [
    await check('signature', () => checkSignature(given, exchange, options)),
    await check('request', () => {
      assertEqual(given.method, method, 'method')
      if (dialect !== undefined) assertEqual(given.dialect, dialect, 'dialect')
      assertEqual(jsonHash({ method, params }), given.requestHash, 'requestHash')
      return `${method}, ${given.requestHash}`
    }),
    await check('block', () => checkBlock(call, given)),
    await check('result', () => {
      assertEqual(jsonHash(call.result), given.resultHash, 'resultHash')
      return given.resultHash
    }),
    await check('price list', () => checkPriceList(call, given, exchange)),
    await check('charge', () => checkCharge(call, given)),
  ]
  const { shownAs } = call
  if (shownAs !== undefined)
    checks.push(
      await check('shape', () => {
        throw new Unchecked(`${shownAs} shows the simulation in its own form: whether the two agree is not checked`)
      }),
    )
  let witness: DecodedWitness | undefined
  checks.push(
    await check('witness', () => {
      witness = decodeOwnWitness(call, given)
      return `${witness.accounts.size} accounts, ${slotsOf(witness)} slots`
    }),
  )
  if (witness === undefined) return checks
  const used: DecodedWitness = witness
  checks.push(
    await check('rules', () => {
      const known = rulesKnown(used.rules.chainId, exchange)
      witness = known === undefined ? used : { ...used, rules: { ...known, schedule: used.rules.schedule } }
      return rulesOf(used, known, exchange)
    }),
    await check('state', () => checkState(used, given)),
  )
  checks.push(await check('execution', () => checkExecution(call, given, witness ?? used, options)))
  return checks
}

async function checkSignature(
  receipt: SignedReceipt,
  { seller }: PaidExchange,
  { signer }: VerifyOptions,
): Promise<string> {
  assertEqual(await signerOf(receipt), receipt.signer, 'signer')
  const signed = `signed by ${receipt.signer} at ${new Date(receipt.issuedAt * 1_000).toISOString()}`
  if (signer !== undefined) assertEqual(receipt.signer, signer.toLowerCase(), 'signer')
  if (seller !== undefined) assertReceiptKey(seller, receipt.signer, receipt.issuedAt)
  else if (signer === undefined) throw new Unchecked(`${signed}: no document of the seller names this key`)
  return `${signed}, a key of the seller`
}

/** @throws Error if the seller's document does not list the key, or the key was retired before `issuedAt` */
export function assertReceiptKey(seller: unknown, signer: string, issuedAt: number): void {
  const keys = decodeObject(seller, 'seller').receiptKeys
  const key = (Array.isArray(keys) ? keys : []).find((known) => known?.address === signer)
  if (key === undefined) throw new Error(`signer: ${signer} is no key of the seller`)
  if (key.until !== undefined && issuedAt > key.until) throw new Error('issuedAt: the key was retired before')
}

/** Checks that the simulated block is the one that the request names and the answer follows. */
function checkBlock({ method, params, result }: PaidCall, { block }: SignedReceipt): string {
  const given = method === 'preview' ? 'pending' : ((params as unknown[])?.[1] ?? 'latest')
  const asked = decodeBlockParameter(given, new Place(undefined, 'params[1]'))
  const isPending = asked.kind === 'tag' && asked.tag === 'pending'
  if (!isPending) assertEqual(block.state, 'canonical', 'block.state')
  if (block.state === 'canonical') assertEqual(block.payloadId, '0x', 'block.payloadId')
  if (block.state !== 'preconfirmed') {
    assertEqual(block.flashblock, 0, 'block.flashblock')
    assertEqual(block.transactions.length, 0, 'block.transactions: how many')
  }
  if (asked.kind === 'number') assertEqual(block.number, asked.number.toString(), 'block.number')
  if (asked.kind === 'hash') assertEqual(block.hash, asked.hash, 'block.hash')
  if (asked.kind === 'tag' && asked.tag === 'earliest') assertEqual(block.number, '0', 'block.number')
  const first = (method === 'preview' ? (result as Preview).block : (result as Preview['block'][])[0]) ?? {}
  const { parentHash, number } = first as Partial<Preview['block']>
  if (parentHash !== undefined) assertEqual(parentHash, block.hash, 'block.hash')
  if (number !== undefined && block.state === 'canonical')
    assertEqual(BigInt(number) - 1n, BigInt(block.number), 'block.number')
  if (method === 'preview') {
    const { state, flashblock } = (result as Preview).block
    assertEqual(state === 'preconfirmed', block.state === 'preconfirmed', 'block.state: preconfirmed')
    assertEqual(flashblock, block.state === 'preconfirmed' ? block.flashblock : null, 'block.flashblock')
  }
  const tag = asked.kind === 'tag' ? `${asked.tag}: ` : ''
  return `${tag}${block.state === 'canonical' ? '' : `${block.state} state on `}block ${block.number} (${block.hash}) of chain ${block.chainId}`
}

/** Checks that the price list is the one offered in the 402, and that its maximum is the receipt's, which the buyer must have signed. */
function checkPriceList({ charge }: PaidCall, receipt: SignedReceipt, { offer }: PaidExchange): string {
  const { priceList } = decodeObject(charge, 'charge') as unknown as ChargeStatement
  const list = decodePriceList(JSON.stringify(priceList))
  const { decimals, maximum, priceListHash } = receipt
  assertEqual(jsonHash(priceList), priceListHash, 'priceListHash')
  assertEqual(maximum, maximumOf(list, decimals).toString(), `maximum: ${list.maximum} with ${decimals} decimals`)
  const named = `version ${priceList.version}, at most ${list.maximum} = ${maximum}`
  if (offer === undefined)
    throw new Unchecked(`${named}: the file has no "offer", so whether it was offered is not checked`)
  const { extensions, accepts } = decodeObject(offer, 'offer') as {
    extensions?: Record<string, { info?: { priceListHash?: unknown; priceList?: unknown } }>
    accepts?: { extra?: { priceListHash?: unknown } }[]
  }
  const terms = extensions?.['charge-terms']?.info
  const hashes = Array.isArray(accepts) ? accepts.map((option) => option?.extra?.priceListHash) : []
  if (terms === undefined && hashes.some((hash) => hash !== undefined)) {
    for (const hash of hashes) assertEqual(hash, priceListHash, 'offer: accepts: extra.priceListHash')
    return `${named}, as offered by its hash`
  }
  assertEqual(terms?.priceListHash, priceListHash, 'offer: priceListHash')
  assertEqual(jsonHash(terms?.priceList ?? null), priceListHash, 'offer: the hash of the price list that it shows')
  return `${named}, as offered`
}

/** Checks that charge, receipt and answer agree, and that the amount follows from the stated usage. */
function checkCharge({ method, charge, result }: PaidCall, receipt: SignedReceipt): string {
  const { amount, maximum, asset, network, usage, priceList, ...others } = decodeObject(
    charge,
    'charge',
  ) as unknown as ChargeStatement
  const { gas, accounts, slots, witnessBytes } = receipt.usage
  const total = gas.reduce((sum, used) => sum + BigInt(used), 0n)
  assertEqual(Object.keys(others).join(), '', 'charge: further fields')
  assertEqual(amount, receipt.amount, 'charge.amount')
  assertEqual(maximum, receipt.maximum, 'charge.maximum')
  assertEqual(String(asset).toLowerCase(), receipt.asset, 'charge.asset')
  assertEqual(network, receipt.network, 'charge.network')
  assertEqual(jsonHash(usage), jsonHash({ gas: total.toString(), accounts, slots, witnessBytes }), 'charge.usage')
  const ofCalls = method === 'preview' ? [(result as Preview).gasUsed] : gasByCall(result as never)
  const resultBytes = Buffer.byteLength(JSON.stringify(result))
  const besideCalls = gasBesideCalls(method, { furtherGas: gas[ofCalls.length] ?? 'none', resultBytes })
  assertEqual(gas.join(', '), [...ofCalls, ...besideCalls].join(', '), 'usage.gas')
  const left = BigInt(maximum) - BigInt(receipt.chargedBefore)
  const list = decodePriceList(JSON.stringify(priceList))
  const due = meter({ gas: total, accounts, slots, witnessBytes }, list, receipt.decimals, left)
  assertEqual(amount, due.toString(), 'amount')
  return `${amount} of at most ${maximum} (smallest unit of ${receipt.asset} on ${network})`
}

function decodeOwnWitness(
  { witness, wantsWitness }: PaidCall,
  { witnessHash, usage, block }: SignedReceipt,
): DecodedWitness {
  if (!wantsWitness) {
    assertEqual(witness, undefined, 'witness: was not requested')
    assertEqual(witnessHash, NO_WITNESS, 'witnessHash')
    assertEqual(usage.witnessBytes, 0, 'usage.witnessBytes')
    throw new Unchecked('none was requested (witness=1): the result, the gas and the touched state are not checked')
  }
  if (witness === undefined) throw new Error('witness: was requested, and is missing')
  assertEqual(jsonHash(witness), witnessHash, 'witnessHash')
  assertEqual(Buffer.byteLength(JSON.stringify(witness)), usage.witnessBytes, 'usage.witnessBytes')
  const decoded = decodeWitness(witness)
  assertEqual(decoded.rules.chainId.toString(), block.chainId, 'witness.rules.chainId')
  assertEqual(decoded.base.hash, block.hash, 'witness.base.hash')
  assertEqual(decoded.base.number.toString(), block.number, 'witness.base.number')
  assertEqual(decoded.opening === undefined, block.state === 'canonical', 'witness.opening: absence')
  return decoded
}

async function checkState(witness: DecodedWitness, { block }: SignedReceipt): Promise<string> {
  const { unproven, base, nodes, ancestors } = witness
  const isCanonical = block.state === 'canonical'
  if (!isCanonical || unproven !== undefined) {
    assertEqual(nodes.length + ancestors.length, 0, 'witness: has nodes and headers that prove nothing')
    proveHeaders({ ...witness, blockHashes: new Map() })
    throw new Unchecked(
      `${isCanonical ? `not proven (${unproven})` : `${block.state} state on block ${base.number}: no header commits to it yet`}: no value of the state is checked`,
    )
  }
  assertEqual(nodes.length, (await prove(witness)).length, 'witness.nodes: how many')
  return `all values proven under the state root of block ${base.number} (${base.hash})`
}

async function checkExecution(
  { method, params, result }: PaidCall,
  receipt: SignedReceipt,
  witness: DecodedWitness,
  options: VerifyOptions,
): Promise<string> {
  // Web pages pass their own engine; they have no worker threads.
  const engine = options.engine ?? (await import('@upfront/engine-revm')).createPortableEngine({ threads: 1 })
  try {
    const { dialect } = receipt
    const asked =
      method === 'eth_simulateV1' ? { params } : decodeInspection(method === 'preview' ? previewParams(params) : params)
    const { blocks, furtherGas, touched, unneeded } = await replay(witness, { ...asked, dialect }, engine)
    const ofCalls = gasByCall(blocks)
    const resultBytes = Buffer.byteLength(JSON.stringify(blocks))
    const gas = [...ofCalls, ...gasBesideCalls(method, { furtherGas, resultBytes })]
    assertEqual(gas.join(', '), receipt.usage.gas.join(', '), 'usage.gas')
    assertTouched(touched, witness)
    assertEqual(touched.accounts.length, receipt.usage.accounts, 'usage.accounts')
    assertEqual(touched.slots.length, receipt.usage.slots, 'usage.slots')
    if (unneeded[0] !== undefined) throw new Error(`witness: ${describe(unneeded[0])} is not needed`)
    const again = method === 'preview' ? previewOf(blocks, receipt.block) : blocks
    const place = firstDifference(result, again)
    if (place !== undefined) throw new Error(`result${place}: is not the result of execution`)
    const total = gas.reduce((sum, used) => sum + BigInt(used), 0n)
    return `${engine.name}: ${total} gas in ${ofCalls.length === 1 ? '1 call' : `${ofCalls.length} calls`}, ${touched.accounts.length} accounts, ${touched.slots.length} slots, the same result`
  } finally {
    if (options.engine === undefined) await engine.close()
  }
}

/** @throws Error that names the first difference between the touched state of the execution and the witness */
function assertTouched(touched: TouchedList, witness: DecodedWitness): void {
  const { accounts, slots } = witnessTouched(touched)
  assertSameList(witness.touched.accounts, accounts, 'witness.touched.accounts')
  assertSameList(Object.keys(witness.touched.slots), Object.keys(slots), 'witness.touched.slots')
  for (const [address, listed] of Object.entries(witness.touched.slots))
    assertSameList(listed, slots[address as Address] ?? [], `witness.touched.slots.${address}`)
}

function assertSameList(got: readonly string[], expected: readonly string[], field: string): void {
  const [listed, touched] = [new Set(got), new Set(expected)]
  const over = got.find((item) => !touched.has(item))
  if (over !== undefined) throw new Error(`${field}: ${over} is not touched`)
  const missing = expected.find((item) => !listed.has(item))
  if (missing !== undefined) throw new Error(`${field}: ${missing} is missing`)
  assertEqual(got.join(), expected.join(), field)
}

function slotsOf({ accounts }: DecodedWitness): number {
  return [...accounts.values()].reduce((sum, { storage }) => sum + storage.size, 0)
}
