import { randomNumbers } from '@upfront/engine-conformance'
import { createPortableEngine } from '@upfront/engine-revm'
import { jsonHash, type PaidExchange, verify } from '../src/index.js'
import { another, answerOf, changedAt, type Json, pathsOf, signedAnew } from './dishonest-seller.js'
import { GenesisState, sell } from './sale.js'

// `npm run test:receipts` uses more.
const FIRST_SEED = Number(process.env.RECEIPT_SEED ?? 1)
const BILLS = Number(process.env.RECEIPT_BILLS ?? 100)

/** Fields that affect neither what a buyer pays nor what it learns, each with the reason. */
const WITHOUT_WEIGHT: [RegExp, string][] = [
  [/^request\.body\.jsonrpc/, 'the buyer’s own word, that nothing answers'],
  [/^chain\./, 'the buyer’s own document: it says by what is executed, and is no part of the bill'],
  [/^(?:offer|payment)\.resource\.(?:description|mimeType)/, 'words for people'],
  [/^payment\.(?:resource|extensions(?:\.charge-terms)?)$/, 'x402 lets a buyer leave these out'],
  [/^offer\.accepts\.\d+\.extra\.facilitatorAddress/, 'of several signers, each offer names one'],
  [/^seller\.receiptKeys\.\d+\.until/, 'when a key that did not sign this was retired'],
  [/^answer\.witness\.rules\.(?!schedule|chainId|forks|blobSchedule)/, 'the rules are taken from the buyer’s document'],
  [/^answer\.witness\.rules\.(?:forks|blobSchedule)/, 'likewise'],
  [/^answer\.witness\.accounts\.0x0{35}c01ba$/, 'of the fee recipient, which only some engines read, nothing follows'],
  [
    /^answer\.witness\.limits\.(?:blocks|callsPerBlock|totalCalls|answerBytes)/,
    'says what would be refused; this was not',
  ],
  [/^answer\.receipt\.issuedAt/, 'by the clock of the seller, while the authorization was valid'],
]

const engine = createPortableEngine({ threads: 1 })
const bills: PaidExchange[] = []

beforeAll(async () => {
  const state = await new GenesisState().fill()
  const from = `0xa${'0'.repeat(39)}`
  const calls = [
    { from, to: `0xc${'0'.repeat(39)}` },
    { from, to: `0xe${'0'.repeat(39)}`, value: '0x1' },
  ]
  bills.push(await sell({ blockStateCalls: [{ calls }], traceTransfers: true }, engine, state))
  const details = { assetChanges: true, stateDiff: true, trace: true }
  bills.push(await sell({ blockStateCalls: [{ calls }] }, engine, state, undefined, details))
})
afterAll(() => engine.close())

type Path = (string | number)[]

/** Replacements: another value of the same form, none, or one of another form. */
const CHANGES: ((value: unknown) => unknown)[] = [
  another,
  () => undefined,
  () => null,
  (value) => (typeof value === 'string' ? `${value}0` : typeof value === 'number' ? value * 10 + 1 : [value]),
  (value) => (typeof value === 'string' && value.startsWith('0x') ? value.replace(/[1-9a-f](?=[^x]*$)/, '0') : 'x'),
  (value) => (typeof value === 'string' && /^\d+$/.test(value) ? (BigInt(value) * 2n + 1n).toString() : { of: value }),
]

it(`none of ${BILLS} altered bills is right, even if re-signed by a dishonest seller, from seed ${FIRST_SEED}`, async () => {
  const passed: unknown[] = []
  let altered = 0
  for (let seed = FIRST_SEED; altered < BILLS; seed++) {
    const next = randomNumbers(seed)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!
    const bill = pick(bills)
    // A field, or everything below a prefix of its path.
    const whole = pick(pathsOf(bill))
    const path = next() < 0.8 ? whole : whole.slice(0, 1 + Math.floor(next() * whole.length))
    if (path.length === 1 && ['request', 'answer'].includes(path[0] as string)) continue
    const change = pick(CHANGES)
    const mode = pick(['unsigned', 'signed', 'fitted'] as const)
    const attempt = await alter(bill, path, change, mode)
    if (attempt === undefined) continue
    altered += 1
    const verification = await verify(attempt, { engine }).catch(() => undefined)
    if (verification?.verdict === 'right')
      passed.push({ seed, path: path.join('.'), mode, change: CHANGES.indexOf(change) })
  }
  expect(passed).toEqual([])
}, 7_200_000)

/** Returns `undefined` if no field that matters was changed. */
async function alter(
  bill: PaidExchange,
  path: Path,
  change: (value: unknown) => unknown,
  mode: 'unsigned' | 'signed' | 'fitted',
): Promise<PaidExchange | undefined> {
  const name = path.join('.')
  if (WITHOUT_WEIGHT.some(([pattern]) => pattern.test(name))) return undefined
  const changed = changedAt(bill, path, change)
  if (valueAt(changed, path) === valueAt(bill, path)) return undefined
  if (mode === 'unsigned' || path[0] !== 'answer') return changed
  let signed: PaidExchange
  try {
    signed = JSON.parse(JSON.stringify(await signedAnew(changed, () => undefined, mode === 'fitted')))
  } catch {
    // It cannot be signed.
    return changed
  }
  // Signing has restored the field.
  if (substance(signed) === substance(bill)) return undefined
  return signed
}

/** All but the seller's signatures. */
function substance(bill: PaidExchange): string {
  const { receipt, ...answer } = answerOf(bill)
  const { signature: _, ...rest } = receipt ?? {}
  return jsonHash({ ...bill, answer: { ...answer, receipt: rest } } as unknown as Json)
}

function valueAt(value: unknown, path: Path): string {
  return JSON.stringify(path.reduce((inner, name) => (inner as Json | undefined)?.[name], value)) ?? 'undefined'
}
