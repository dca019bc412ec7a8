import { createEthereumJsEngine } from '@upfront/engine-ethereumjs'
import { privateKeyToAccount } from 'viem/accounts'
import { type Check, jsonHash, type PaidExchange, type SignedReceipt, signReceipt, verify } from '../src/index.js'
import { GenesisState, RECEIPT_KEY, sell } from './sale.js'

type Json = Record<string | number, unknown>

const engine = createEthereumJsEngine({ threads: 1 })
let exchange: PaidExchange

beforeAll(async () => {
  const counter = `0xc${'0'.repeat(39)}`
  const calls = [
    { from: `0xa${'0'.repeat(39)}`, to: counter },
    { from: `0xa${'0'.repeat(39)}`, to: `0xe${'0'.repeat(39)}`, value: '0x1' },
  ]
  const payload = { blockStateCalls: [{ blockOverrides: { time: '0x1a00' }, calls }], traceTransfers: true }
  exchange = await sell(payload, engine, await new GenesisState().fill())
})
afterAll(() => engine.close())

async function checksOf(changed: unknown): Promise<Check[]> {
  const { calls, payment } = await verify(changed, { engine })
  return [...calls.flatMap(({ checks }) => checks), ...payment]
}

/** The names of the checks that find something wrong; what can't be read at all is `unreadable`. */
async function wrongIn(changed: unknown): Promise<string[]> {
  const checks = await checksOf(changed).catch(() => undefined)
  return checks?.filter(({ outcome }) => outcome === 'wrong').map(({ name }) => name) ?? ['unreadable']
}

const answerOf = (from: PaidExchange) => from.answer as Json & { receipt: SignedReceipt; witness: Json; charge: Json }

it('is right as it is, in every part', async () => {
  expect((await checksOf(exchange)).map(({ name, outcome }) => [name, outcome])).toEqual(
    ['signature', 'request', 'result', 'price list', 'charge', 'witness', 'state', 'execution', 'payment'].map(
      (name) => [name, 'right'],
    ),
  )
})

describe('a changed field is found', () => {
  it.each(['receipt', 'charge', 'result', 'witness', 'jsonrpc', 'id'])(
    'in the answer: %s',
    async (part) => {
      const paths = pathsOf(exchange.answer).filter(([name]) => name === part)
      expect(paths.length).toBeGreaterThan(0)
      for (const path of paths)
        for (const change of [another, () => undefined]) {
          const changed = changedAt(exchange, ['answer', ...path], change)
          expect([path, await wrongIn(changed)]).not.toEqual([path, []])
        }
    },
    600_000,
  )

  it('in the request', async () => {
    for (const path of pathsOf(exchange.request.body, []).filter(([name]) => name === 'params'))
      expect(await wrongIn(changedAt(exchange, ['request', 'body', ...path], another))).toContain('request')
  })

  it.each([
    [['offer', 'extensions', 'charge-terms', 'info', 'priceListHash'], 'price list'],
    [['payment', 'payload', 'permit2Authorization', 'deadline'], 'payment'],
    [['payment', 'payload', 'permit2Authorization', 'witness', 'facilitator'], 'payment'],
    [['settlement', 'amount'], 'payment'],
    [['seller', 'receiptKeys', 0, 'address'], 'signature'],
  ])('in what the buyer kept: %j', async (path, name) => {
    expect(await wrongIn(changedAt(exchange, path, another))).toEqual([name])
  })
})

describe('a seller who has another key now', () => {
  const address = `0x${'5e'.repeat(20)}`
  const soldBy = (until: number) => {
    const { signer } = answerOf(exchange).receipt
    return { ...exchange, seller: { receiptKeys: [{ address }, { address: signer, until }] } }
  }

  it('is believed what the old one signed while it was in use', async () => {
    expect(await wrongIn(soldBy(answerOf(exchange).receipt.issuedAt))).toEqual([])
  })

  it('is not believed what the old one signed later', async () => {
    expect(await wrongIn(soldBy(answerOf(exchange).receipt.issuedAt - 1))).toEqual(['signature'])
  })
})

describe('a seller who signs what is not so is found out', () => {
  const account = privateKeyToAccount(RECEIPT_KEY)

  /** The exchange with another answer, all hashes and the signature made to fit it. */
  async function lie(change: (answer: ReturnType<typeof answerOf>) => void): Promise<PaidExchange> {
    const copy = structuredClone(exchange)
    const answer = answerOf(copy)
    change(answer)
    const { signature: _, signer: __, ...receipt } = answer.receipt
    receipt.resultHash = jsonHash(answer.result)
    receipt.witnessHash = jsonHash(answer.witness)
    receipt.usage.witnessBytes = JSON.stringify(answer.witness).length
    ;(answer.charge.usage as Json).witnessBytes = receipt.usage.witnessBytes
    answer.receipt = await signReceipt(receipt, account)
    return copy
  }

  const counter = `0xc${'0'.repeat(39)}`
  const stranger = `0xe${'0'.repeat(38)}9`
  const slot = (number: number) => `0x${number.toString(16).padStart(64, '0')}`
  const touchedIn = ({ witness }: ReturnType<typeof answerOf>) =>
    witness.touched as { accounts: string[]; slots: Record<string, string[]> }
  /** Bills what the list says. */
  const billTouched = (answer: ReturnType<typeof answerOf>) => {
    const { accounts, slots } = touchedIn(answer)
    const counts = { accounts: accounts.length, slots: Object.values(slots).flat().length }
    Object.assign(answer.receipt.usage, counts)
    Object.assign(answer.charge.usage as Json, counts)
  }
  const accountIn = ({ witness }: ReturnType<typeof answerOf>, name: string) =>
    (witness.accounts as Record<string, Json>)[name]!

  it.each<[string, (answer: ReturnType<typeof answerOf>) => void, string[]]>([
    [
      'more gas',
      ({ receipt, charge }) => {
        const gas = receipt.usage.gas.map(BigInt)
        receipt.usage.gas = gas.map((used) => (used + 1n).toString())
        ;(charge.usage as Json).gas = gas.reduce((sum, used) => sum + used + 1n, 0n).toString()
      },
      ['execution'],
    ],
    [
      'more accounts',
      ({ receipt, charge }) => {
        receipt.usage.accounts += 1
        ;(charge.usage as Json).accounts = receipt.usage.accounts
      },
      ['execution'],
    ],
    [
      'one account more in the list',
      (answer) => {
        touchedIn(answer).accounts.push(stranger)
        billTouched(answer)
      },
      ['execution'],
    ],
    [
      'one account fewer in the list',
      (answer) => {
        touchedIn(answer).accounts.pop()
        billTouched(answer)
      },
      ['execution'],
    ],
    [
      'another account in the list, the count as it was',
      (answer) => {
        touchedIn(answer).accounts.splice(-1, 1, stranger)
      },
      ['execution'],
    ],
    [
      'one slot more in the list',
      (answer) => {
        touchedIn(answer).slots[counter]!.push(slot(9))
        billTouched(answer)
      },
      ['execution'],
    ],
    [
      'one slot fewer in the list',
      (answer) => {
        touchedIn(answer).slots = {}
        billTouched(answer)
      },
      ['execution'],
    ],
    [
      'another slot in the list, the count as it was',
      (answer) => {
        touchedIn(answer).slots[counter] = [slot(9)]
      },
      ['execution'],
    ],
    [
      'a value that nothing reads',
      (answer) => {
        const { storage } = accountIn(answer, counter) as { storage: Json }
        storage[slot(9)] = slot(0)
      },
      ['execution'],
    ],
    [
      'an account that nothing reads',
      (answer) => {
        ;(answer.witness.accounts as Json)[stranger] = { balance: '0x0', nonce: '0x0', code: '0x', storage: {} }
      },
      ['execution'],
    ],
    [
      'a trie node twice',
      ({ witness }) => {
        const nodes = witness.nodes as string[]
        nodes.push(nodes[0]!)
      },
      ['state'],
    ],
    [
      'a trie node that proves nothing',
      ({ witness }) => {
        ;(witness.nodes as string[]).push('0xc22080')
      },
      ['state'],
    ],
    [
      'a header that proves nothing',
      ({ witness }) => {
        ;(witness.ancestors as unknown[]).push(witness.base)
      },
      ['state'],
    ],
    [
      'a higher amount',
      ({ receipt, charge }) => {
        receipt.amount = (BigInt(receipt.amount) + 1n).toString()
        charge.amount = receipt.amount
      },
      ['charge', 'payment'],
    ],
    [
      'another result',
      ({ result }) => {
        ;(result as { calls: Json[] }[])[0]!.calls[0]!.status = '0x0'
      },
      ['execution'],
    ],
    [
      'another balance',
      (answer) => {
        accountIn(answer, `0xa${'0'.repeat(39)}`).balance = '0xffffffffffffffffffff'
      },
      ['state'],
    ],
    [
      'another slot',
      (answer) => {
        const { storage } = accountIn(answer, counter) as { storage: Json }
        for (const slot of Object.keys(storage)) storage[slot] = `0x${'1'.padStart(64, '0')}`
      },
      ['state'],
    ],
    [
      'a slot left out',
      (answer) => {
        accountIn(answer, counter).storage = {}
      },
      ['execution'],
    ],
    [
      'another state root',
      ({ witness }) => {
        ;(witness.base as Json).stateRoot = `0x${'11'.repeat(32)}`
      },
      ['state'],
    ],
  ])('%s', async (_what, change, found) => {
    expect(await wrongIn(await lie(change))).toEqual(expect.arrayContaining(found))
  })
})

/** The paths of all values, lists and empty objects too. */
function pathsOf(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path]
  const below = Object.entries(value).flatMap(([name, field]) =>
    pathsOf(field, [...path, Array.isArray(value) ? Number(name) : name]),
  )
  return below.length === 0 ? [path] : below
}

function changedAt(value: unknown, path: readonly (string | number)[], change: (value: unknown) => unknown): unknown {
  const copy = structuredClone(value) as Json
  const parent = path.slice(0, -1).reduce((inner, name) => inner[name] as Json, copy)
  const name = path.at(-1)!
  parent[name] = change(parent[name])
  return JSON.parse(JSON.stringify(copy))
}

function another(value: unknown): unknown {
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  if (Array.isArray(value)) return ['0x']
  if (typeof value !== 'string') return { extra: '0x1' }
  const last = value.at(-1)
  return value.slice(0, -1) + (last === '1' ? '2' : '1')
}
