import { truthSignerOf } from '@upfront/receipt'
import type { Outcome, ShownDependencies } from '@upfront/simulation'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { inBrowser } from './chromium.js'
import { consolePages, expectAccessible, LOOKS } from './console-page.js'
import { receiptKeysFile } from './paid-stand.js'
import { startTruthStand, type TruthStand } from './truth-stand.js'

const KEY = generatePrivateKey()

let stand: TruthStand

beforeAll(async () => {
  stand = await startTruthStand(3, { RECEIPT_KEYS_FILE: receiptKeysFile(KEY) })
})
afterAll(() => stand?.stop())

/** How many waiting transactions change what decides another swap, and its outcome. */
async function ask({ address }: PrivateKeyAccount) {
  const calls = [{ from: address, to: stand.uniswap.router, input: stand.swap({ address } as PrivateKeyAccount) }]
  const payload = { blockStateCalls: [{ calls }], depends: true, outcome: true }
  const { result } = await stand.gateway.call<{ calls: { depends: ShownDependencies; outcome: Outcome }[] }[]>(
    'upfront_simulate',
    [payload, 'latest'],
  )
  const { depends, outcome } = result![0]!.calls[0]!
  const seen = outcome.because.filter(({ under }) => /waiting transaction/.test(under))
  const waiting = Math.max(0, ...depends.facts.map(({ waiting = 0 }) => waiting))
  expect(seen.length > 0).toBe(waiting > 0)
  return { waiting, outcome }
}

it('scores predictions for waiting transactions, and names the dependency that made one wrong', async () => {
  const [first, second, third] = stand.traders as [PrivateKeyAccount, PrivateKeyAccount, PrivateKeyAccount]
  const { router, pairV2 } = stand.uniswap
  // All use the same reserves, but only the first finds them.
  const hit = await stand.send(first, router, stand.swap(first), 30n)
  const less = await stand.send(second, router, stand.swap(second), 20n)
  const fails = await stand.send(third, router, stand.swap(third, await stand.quote(third)), 10n)
  await stand.until('predicted', 3)
  // The third fails after the first and then changes nothing.
  const asked = await ask(first)
  expect(asked.waiting).toBeGreaterThanOrEqual(2)
  expect(asked.outcome.verdict).toBe('changes')
  await stand.mine()
  const { misses, ...counts } = await stand.until('judged', 3)
  expect(counts).toMatchObject({ chainId: foundry.id, seen: 3, predicted: 3, judged: 3, hits: 1, explained: 2 })
  const byHash = new Map(misses.map((miss) => [miss.transaction, miss]))
  expect(byHash.has(hit)).toBe(false)
  expect(byHash.get(less)).toMatchObject({
    ...{ why: 'dependency', differs: expect.arrayContaining(['transfers']) },
    proof: expect.stringMatching(/^(alone|together)$/),
  })
  expect(byHash.get(less)!.effect).toMatch(/^0x\w+ instead of 0x\w+: transfer of 0x/)
  const failed = { why: 'dependency', differs: expect.arrayContaining(['status']), effect: 'fails' }
  expect(byHash.get(fails)).toMatchObject(failed)
  const fact = expect.objectContaining({ kind: 'slot', address: pairV2.toLowerCase() })
  const reserves = expect.objectContaining({ fact, by: 'a transaction before' })
  for (const hash of [less, fails]) expect(byHash.get(hash)!.because).toEqual(expect.arrayContaining([reserves]))
  const sample = (outcome: string) => stand.gateway.metric(`upfront_truth_predictions_total{outcome="${outcome}"}`)
  expect([await sample('hit'), await sample('dependency'), await sample('ours')]).toEqual([1, 2, 0])
  expect(await ask(first)).toMatchObject({ waiting: 0 })
})

describe('/console/live', () => {
  const pages = consolePages(
    async () => stand.gateway.url,
    async () => undefined,
  )

  inBrowser('shows how many predictions were right, and why the others were wrong', async () => {
    const page = await pages.open('live', { ...LOOKS[0]![1], bypassCSP: true })
    await page.getByText('1 of 3 predictions came true today; 2 of the other 2 explained.').waitFor()
    expect(
      await page.getByText(/^a value that it depends on changed: slot of 0x\w+…, by a transaction before$/).count(),
    ).toBe(2)
    await expectAccessible(page)
    await page.close()
  })
})

it('GET /v1/truth signs the summary with the receipt key', async () => {
  const found = await stand.summary(`?day=${new Date().toISOString().slice(0, 10)}`)
  const address = privateKeyToAccount(KEY).address.toLowerCase()
  expect(found.signer).toBe(address)
  expect(await truthSignerOf(found)).toBe(address)
  const [miss, ...others] = found.misses
  expect(await truthSignerOf({ ...found, misses: [{ ...miss!, why: 'rule' }, ...others] })).not.toBe(address)
  expect(await truthSignerOf({ ...found, hits: found.hits + 1 })).not.toBe(address)
})

it('GET /v1/truth rejects a malformed day and one without data', async () => {
  for (const [query, status, words] of [
    ['?day=yesterday', 400, 'day: expected a day such as 2026-11-24'],
    ['?day=a&day=b', 400, 'day: expected a day such as 2026-11-24'],
    ['?day=1999-01-01', 404, 'day: no data for 1999-01-01'],
  ] as const) {
    const response = await fetch(`${stand.gateway.url}/v1/truth${query}`)
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { message: words } })
  }
})
