import { createPortableEngine } from '@upfront/engine-revm'
import { type Check, type PaidExchange, verify } from '../src/index.js'
import { another, answerOf, changedAt, type Json, pathsOf, type SoldAnswer, signedAnew } from './dishonest-seller.js'
import { GenesisState, sell } from './sale.js'

const engine = createPortableEngine({ threads: 1 })
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

/** The names of the checks that are not right; `unreadable` if the bill can't be decoded. */
async function wrongIn(changed: unknown): Promise<string[]> {
  const checks = await checksOf(changed).catch(() => undefined)
  return checks?.filter(({ outcome }) => outcome !== 'right').map(({ name }) => name) ?? ['unreadable']
}

it('an unchanged bill passes every check', async () => {
  expect((await checksOf(exchange)).map(({ name, outcome }) => [name, outcome])).toEqual(
    [
      ...['signature', 'request', 'block', 'result', 'price list', 'charge', 'witness', 'rules', 'state', 'execution'],
      ...['offer', 'authorization', 'payment', 'settlement', 'delivery'],
    ].map((name) => [name, 'right']),
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
    [
      ['offer', 'extensions', 'charge-terms', 'info', 'priceListHash'],
      ['price list', 'offer'],
    ],
    [['payment', 'payload', 'permit2Authorization', 'deadline'], ['authorization']],
    [['payment', 'payload', 'permit2Authorization', 'witness', 'facilitator'], ['authorization']],
    [['settlement', 'amount'], ['settlement']],
    [
      ['seller', 'receiptKeys', 0, 'address'],
      ['signature', 'delivery'],
    ],
  ])('in what the buyer kept: %j', async (path, names) => {
    expect(await wrongIn(changedAt(exchange, path, another))).toEqual(names)
  })
})

describe('after a seller has changed its key', () => {
  const address = `0x${'5e'.repeat(20)}`
  const soldBy = (until: number) => {
    const { signer } = answerOf(exchange).receipt
    const receiptKeys = [{ address }, { address: signer, until }]
    return { ...exchange, seller: { ...(exchange.seller as Json), receiptKeys } }
  }

  it('a bill signed by the old key while it was valid is right', async () => {
    expect(await wrongIn(soldBy(answerOf(exchange).receipt.issuedAt + 1))).toEqual([])
  })

  it('a bill signed by the old key later is wrong', async () => {
    expect(await wrongIn(soldBy(answerOf(exchange).receipt.issuedAt - 1))).toEqual(['signature', 'delivery'])
  })
})

describe('a bill that a dishonest seller has changed and re-signed fails the named checks, with:', () => {
  const counter = `0xc${'0'.repeat(39)}`
  const stranger = `0xe${'0'.repeat(38)}9`
  const slot = (number: number) => `0x${number.toString(16).padStart(64, '0')}`
  const touchedIn = ({ witness }: SoldAnswer) =>
    witness!.touched as { accounts: string[]; slots: Record<string, string[]> }
  /** Bills the counts of the witness's list. */
  const billTouched = (answer: SoldAnswer) => {
    const { accounts, slots } = touchedIn(answer)
    const counts = { accounts: accounts.length, slots: Object.values(slots).flat().length }
    Object.assign(answer.receipt.usage, counts)
    Object.assign(answer.charge.usage, counts)
  }
  const accountIn = ({ witness }: SoldAnswer, name: string) => (witness!.accounts as Record<string, Json>)[name]!

  it.each<[string, (answer: SoldAnswer) => void, string[]]>([
    [
      'more gas',
      ({ receipt, charge }) => {
        const gas = receipt.usage.gas.map(BigInt)
        receipt.usage.gas = gas.map((used) => (used + 1n).toString())
        charge.usage.gas = gas.reduce((sum, used) => sum + used + 1n, 0n).toString()
      },
      ['execution'],
    ],
    [
      'more accounts',
      ({ receipt, charge }) => {
        receipt.usage.accounts += 1
        charge.usage.accounts = receipt.usage.accounts
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
        ;(answer.witness!.accounts as Json)[stranger] = { balance: '0x0', nonce: '0x0', code: '0x', storage: {} }
      },
      ['execution'],
    ],
    [
      'a trie node twice',
      ({ witness }) => {
        const nodes = witness!.nodes as string[]
        nodes.push(nodes[0]!)
      },
      ['state'],
    ],
    [
      'a trie node that proves nothing',
      ({ witness }) => {
        ;(witness!.nodes as string[]).push('0xc22080')
      },
      ['state'],
    ],
    [
      'padding in a header, which is paid for by its length',
      ({ witness }) => {
        ;(witness!.base as Json).padding = '0'.repeat(1_000)
      },
      ['witness'],
    ],
    [
      'padding in the rules',
      ({ witness }) => {
        ;(witness!.rules as Json).caveats = ['0'.repeat(1_000)]
      },
      ['witness'],
    ],
    [
      'a header that proves nothing',
      ({ witness }) => {
        ;(witness!.ancestors as unknown[]).push(witness!.base)
      },
      ['state'],
    ],
    [
      'a higher amount',
      ({ receipt, charge }) => {
        receipt.amount = (BigInt(receipt.amount) + 1n).toString()
        charge.amount = receipt.amount
      },
      ['charge', 'settlement'],
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
        ;(witness!.base as Json).stateRoot = `0x${'11'.repeat(32)}`
      },
      ['state'],
    ],
  ])('%s', async (_what, change, found) => {
    expect(await wrongIn(await signedAnew(exchange, change))).toEqual(expect.arrayContaining(found))
  })
})
