import { privateKeyToAccount } from 'viem/accounts'
import { decodeReceipt, type Receipt, type SignedReceipt, signerOf, signReceipt } from './receipt.js'

const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const address = (byte: string) => `0x${byte.repeat(20)}` as const
const hash = (byte: string) => `0x${byte.repeat(32)}` as const

const receipt: Receipt = {
  payer: address('a1'),
  nonce: '115792089237316195423570985008687907853269984665640564039457584007913129639935',
  authorizationHash: hash('01'),
  method: 'eth_simulateV1',
  dialect: 'upfront',
  requestHash: hash('02'),
  resultHash: hash('03'),
  witnessHash: hash('00'),
  block: {
    chainId: '10',
    number: '105',
    hash: hash('04'),
    state: 'preconfirmed',
    payloadId: '0x0102030405060708',
    flashblock: 3,
    transactions: [hash('05'), hash('06')],
  },
  usage: { gas: ['21000', '0'], accounts: 2, slots: 1, witnessBytes: 0 },
  priceListHash: hash('07'),
  amount: '1002',
  maximum: '100000',
  chargedBefore: '7',
  decimals: 6,
  asset: address('c0'),
  network: 'eip155:8453',
  payTo: address('b0'),
  issuedAt: 1_795_000_000,
}

let signed: SignedReceipt

beforeAll(async () => {
  signed = await signReceipt(receipt, account)
})

it('a decoded receipt names its signer', async () => {
  const sent = decodeReceipt(JSON.parse(JSON.stringify(signed)))
  expect(sent.signer).toBe(account.address.toLowerCase())
  expect(await signerOf(sent)).toBe(sent.signer)
})

/** Whether it decodes as a receipt with a valid signature. */
async function holds(value: unknown): Promise<boolean> {
  try {
    const sent = decodeReceipt(value)
    return (await signerOf(sent)) === sent.signer
  } catch {
    return false
  }
}

/** The paths of all values in `value`. */
function pathsOf(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path]
  const below = Object.entries(value).flatMap(([name, field]) =>
    pathsOf(field, [...path, Array.isArray(value) ? Number(name) : name]),
  )
  return Array.isArray(value) ? [path, ...below] : below
}

function changed(at: (string | number)[], change: (value: unknown) => unknown): unknown {
  const copy = structuredClone(signed) as unknown as Record<string | number, unknown>
  const parent = at.slice(0, -1).reduce((value, name) => value[name] as typeof copy, copy)
  const name = at.at(-1)!
  parent[name] = change(parent[name])
  return copy
}

it('a receipt is invalid if any field is changed, missing, encoded differently or added', async () => {
  const fields = pathsOf(signed)
  expect(fields).toHaveLength(34)
  for (const at of fields) {
    const changes: ((value: unknown) => unknown)[] = [
      () => undefined,
      () => null,
      (value) => (Array.isArray(value) ? value.slice(1) : typeof value === 'number' ? value + 1 : another(`${value}`)),
      (value) => (typeof value === 'string' && /[a-z]/.test(value) ? value.toUpperCase() : ` ${value}`),
      (value) => (typeof value === 'string' && !value.startsWith('0x') ? `0${value}` : [value]),
    ]
    for (const change of changes) expect([at, await holds(changed(at, change))]).toEqual([at, false])
  }
  expect(await holds({ ...signed, extra: 1 })).toBe(false)
  expect(await holds({ ...signed, block: { ...signed.block, extra: 1 } })).toBe(false)
  expect(await holds(signed)).toBe(true)
})

/** Another string of the same form. */
function another(text: string): string {
  const words = ['eth_simulateV1', 'preview', 'upfront', 'ethereum', 'canonical', 'pending', 'preconfirmed']
  const index = words.indexOf(text)
  if (index >= 0) return words[index ^ 1] ?? words[4]!
  const last = text.at(-1)!
  return text.slice(0, -1) + (last === '1' ? '2' : '1')
}

it.each([
  [null, 'receipt: expected an object'],
  [{ nonce: '01' }, 'receipt.nonce: expected'],
  [{ amount: (2n ** 256n).toString() }, 'receipt.amount: expected a number below 2^256'],
  [{ block: [] }, 'receipt.block: expected an object'],
  [{ usage: { ...receipt.usage, gas: '1' } }, 'receipt.usage.gas: expected an array'],
  [{ decimals: -1 }, 'receipt.decimals: expected an integer from 0'],
  [{ signature: `0x${'00'.repeat(65)}` }, 'receipt.signature: expected'],
])('decodeReceipt names the field that it refuses in %j', (fields, problem) => {
  expect(() => decodeReceipt(fields === null ? null : { ...signed, ...fields })).toThrow(problem)
})
