import { createPortableEngine } from '@upfront/engine-revm'
import { jsonHash, type Outcome, type PaidExchange, verify } from '../src/index.js'
import { answerOf, changedAt, type Json, type SoldAnswer, signedAnew } from './dishonest-seller.js'
import { checkSettlement, GenesisState, sell } from './sale.js'

// Each of these bills once passed as right.

const engine = createPortableEngine({ threads: 1 })
let state: GenesisState
let exchange: PaidExchange

beforeAll(async () => {
  const calls = [{ from: `0xa${'0'.repeat(39)}`, to: `0xc${'0'.repeat(39)}` }]
  state = await new GenesisState().fill()
  exchange = await sell({ blockStateCalls: [{ calls }] }, engine, state)
})
afterAll(() => engine.close())

/** The verdict, and the checks that caused it. */
async function found(bill: PaidExchange): Promise<[Outcome, ...string[]]> {
  const { calls, payment, verdict } = await verify(JSON.parse(JSON.stringify(bill)), { engine })
  const checks = [...calls.flatMap((call) => call.checks), ...payment]
  return [
    verdict,
    ...checks.filter(({ outcome }) => outcome === verdict && outcome !== 'right').map(({ name }) => name),
  ]
}

const byFittingSeller = (change: (answer: SoldAnswer) => void) => signedAnew(exchange, change, true)
interface Named {
  offer: { extensions: unknown; accepts: { extra: { priceListHash?: string } }[] }
  payment: { extensions: unknown; accepted: { extra: { priceListHash?: string } } }
}
const withRequest = (bill: PaidExchange, block: unknown): PaidExchange =>
  changedAt(bill, ['request', 'body', 'params', 1], () => block)

it('an honest bill is right', async () => {
  expect(await found(exchange)).toEqual(['right'])
  expect(await found(await byFittingSeller(() => undefined))).toEqual(['right'])
})

describe('a bill is wrong even if its seller signed it with consistent numbers:', () => {
  it('decimals that the seller has changed', async () => {
    const bill = await byFittingSeller(({ receipt }) => {
      receipt.decimals += 1
    })
    expect(BigInt(answerOf(bill).receipt.amount)).toBeGreaterThan(9n * BigInt(answerOf(exchange).receipt.amount))
    expect(await found(bill)).toEqual(['wrong', 'price list'])
  })

  it('decimals of 2^50', async () => {
    const bill = await signedAnew(exchange, ({ receipt }) => {
      receipt.decimals = 2 ** 50
    })
    expect(await found(bill)).toEqual(['wrong', 'receipt'])
  })

  it('a price list that the 402 does not contain, even if its hash matches', async () => {
    const bill = await byFittingSeller(({ charge }) => {
      charge.priceList = { ...charge.priceList, base: '$0.05' }
    })
    const { priceListHash } = answerOf(bill).receipt
    const terms = ['offer', 'extensions', 'charge-terms', 'info', 'priceListHash']
    const offered = changedAt(
      changedAt(bill, terms, () => priceListHash),
      ['payment', 'extensions'],
      () => undefined,
    )
    expect(await found(offered)).toEqual(['wrong', 'price list'])
  })

  it('a price list whose hash differs from priceListHash of an offer', async () => {
    const { priceListHash } = answerOf(exchange).receipt
    const naming = (hash: string) => {
      const named = structuredClone(exchange) as unknown as Named
      named.offer.extensions = undefined
      named.payment.extensions = undefined
      for (const { extra } of [...named.offer.accepts, named.payment.accepted]) extra.priceListHash = hash
      return JSON.parse(JSON.stringify(named))
    }
    expect(await found(naming(priceListHash))).toEqual(['right'])
    expect(await found(naming(`0x${'11'.repeat(32)}`))).toEqual(['wrong', 'price list'])
  })

  it('a price list whose maximum is not the signed one', async () => {
    const bill = await byFittingSeller(({ charge }) => {
      charge.priceList = { ...charge.priceList, maximum: '$0.20' }
    })
    expect(await found(bill)).toEqual(['wrong', 'price list'])
  })

  it('a requested witness that is missing, with invented gas', async () => {
    const bill = await byFittingSeller((answer) => {
      delete answer.witness
      answer.receipt.usage.gas = ['990000000']
      answer.result[0]!.calls = [{ ...(answer.result[0]!.calls as Json[])[0], gasUsed: '0x3b023380' }]
    })
    expect(await found(bill)).toEqual(['wrong', 'witness'])
  })

  it('a witness that was not requested', async () => {
    const url = exchange.request.url.replace('&witness=1', '')
    const bill = JSON.parse(JSON.stringify(exchange).replaceAll(exchange.request.url, url)) as PaidExchange
    expect((await found(bill)).slice(0, 2)).toEqual(['wrong', 'witness'])
  })

  it('without a witness, gas that differs from that of the answer', async () => {
    const bill = await byFittingSeller((answer) => {
      delete answer.witness
      answer.receipt.usage.gas = ['990000000']
    })
    const { request, answer } = changedAt(bill, ['request', 'url'], (url) => String(url).replace('&witness=1', ''))
    expect(await found({ request, answer })).toEqual(['wrong', 'charge'])
  })

  it('a block other than the requested number or hash', async () => {
    for (const block of ['0x1', `0x${'11'.repeat(32)}`, { blockNumber: '0x1' }, { blockHash: `0x${'11'.repeat(32)}` }])
      expect(await found(await signedAnew(withRequest(exchange, block), () => undefined))).toEqual(['wrong', 'block'])
    const { hash } = answerOf(exchange).receipt.block
    for (const block of ['0x0', hash, { blockHash: hash }, 'earliest', 'finalized'])
      expect(await found(await signedAnew(withRequest(exchange, block), () => undefined))).toEqual(['right'])
  })

  it('a recipient, asset or network other than the signed one', async () => {
    const other = `0x${'dd'.repeat(20)}` as const
    for (const name of ['payTo', 'asset'] as const) {
      const bill = await byFittingSeller(({ receipt }) => {
        receipt[name] = other
      })
      expect(await found(bill)).toEqual(['wrong', 'authorization'])
    }
    const elsewhere = await byFittingSeller(({ receipt }) => {
      receipt.network = 'eip155:1'
    })
    expect(await found(elsewhere)).toEqual(['wrong', 'authorization', 'settlement'])
  })

  it('an authorization that differs from the accepted terms, or accepted terms that were not offered', async () => {
    const signed = ['payment', 'payload', 'permit2Authorization']
    const other = () => `0x${'dd'.repeat(20)}`
    for (const path of [['spender'], ['permitted', 'token'], ['witness', 'to'], ['witness', 'facilitator']])
      expect(await found(changedAt(exchange, [...signed, ...path], other))).toEqual(['wrong', 'authorization'])
    for (const name of ['payTo', 'asset'])
      expect((await found(changedAt(exchange, ['payment', 'accepted', name], other))).slice(0, 3)).toEqual([
        'wrong',
        'offer',
        'authorization',
      ])
    expect(await found(changedAt(exchange, ['offer', 'accepts', 0, 'amount'], () => '1000'))).toEqual([
      'wrong',
      'offer',
    ])
    expect(await found(changedAt(exchange, ['offer', 'resource', 'url'], () => 'https://other.example'))).toEqual([
      'wrong',
      'offer',
    ])
  })

  it.each([
    [{ success: false }, ['settlement']],
    [{ transaction: '' }, ['settlement']],
    [{ payer: `0x${'ee'.repeat(20)}` as const }, ['settlement']],
    [{ network: 'eip155:1' }, ['settlement']],
  ])('a settlement with %j', async (change, names) => {
    const settlement = await checkSettlement(answerOf(exchange).receipt.amount, change)
    expect(await found({ ...exchange, settlement })).toEqual(['wrong', ...names])
  })

  it('a delivery receipt for another payment, or by another key', async () => {
    const { receipt } = answerOf(exchange)
    const other = (await checkSettlement(receipt.amount, { transaction: `0x${'99'.repeat(32)}` })) as Json
    const settlement = { ...(exchange.settlement as Json), extensions: other.extensions }
    expect(await found({ ...exchange, settlement })).toEqual(['wrong', 'delivery'])
    const signature = ['settlement', 'extensions', 'offer-receipt', 'info', 'receipt', 'signature']
    expect(await found(changedAt(exchange, signature, () => receipt.signature))).toEqual(['wrong', 'delivery'])
  })
})

describe('a bill is unchecked, naming the checks that lack data:', () => {
  it('a witness that is marked as unproven', async () => {
    const bill = await byFittingSeller(({ witness }) => {
      Object.assign(witness!, { unproven: 'the node gives no proofs', nodes: [] })
    })
    expect(await found(bill)).toEqual(['unchecked', 'state'])
  })

  it('an unknown chain ID without the chain document', async () => {
    expect(await found({ ...exchange, chain: undefined })).toEqual(['unchecked', 'rules'])
  })

  it('rules that only the seller vouches for', async () => {
    const bill = await byFittingSeller(({ witness }) => {
      const rules = witness!.rules as { schedule: Json }
      rules.schedule.blockTime = '1000000n'
    })
    expect(await found(bill)).toEqual(['wrong', 'execution'])
    const [from, at] = [`0xa${'0'.repeat(39)}`, { time: '0x1a00' }]
    const timeless = await sell({ blockStateCalls: [{ blockOverrides: at, calls: [{ from }] }] }, engine, state)
    const faster = await signedAnew(timeless, ({ witness }) => {
      ;(witness!.rules as { schedule: Json }).schedule.blockTime = '2n'
    })
    expect(await found(faster)).toEqual(['unchecked', 'rules'])
    expect(await found({ ...faster, seller: { ...(faster.seller as Json), blockTime: '2' } })).toEqual(['right'])
    const capped = changedAt(exchange, ['seller', 'gasCap'], () => '1')
    expect(await found(capped)).toEqual(['unchecked', 'rules'])
  })

  it.each([
    ['offer', ['price list', 'offer']],
    ['payment', ['offer', 'authorization']],
    ['settlement', ['settlement', 'delivery']],
    ['seller', ['signature', 'rules', 'delivery']],
  ])('a file without %j', async (name, names) => {
    expect(await found({ ...exchange, [name]: undefined })).toEqual(['unchecked', ...names])
  })

  it('an answer without a receipt', async () => {
    const [verdict, ...names] = await found(changedAt(exchange, ['answer', 'receipt'], () => undefined))
    expect([verdict, names]).toEqual(['unchecked', ['receipt', 'payment', 'settlement']])
  })

  it('an authorization that is unsigned, or not signed by the payer', async () => {
    const signature = ['payment', 'payload', 'signature']
    expect(await found(changedAt(exchange, signature, () => undefined))).toEqual(['unchecked', 'authorization'])
    const { receipt } = answerOf(exchange)
    expect(await found(changedAt(exchange, signature, () => receipt.signature))).toEqual(['unchecked', 'authorization'])
  })

  it('a pending settlement', async () => {
    const settlement = { ...(exchange.settlement as Json), success: false, errorReason: 'settlement_pending' }
    expect(await found({ ...exchange, settlement })).toEqual(['unchecked', 'settlement'])
  })
})

it('the hash of the charged price list is that of the receipt', () => {
  const { charge, receipt } = answerOf(exchange)
  expect(jsonHash(charge.priceList)).toBe(receipt.priceListHash)
})
