import type { Outcome, ShownDependencies } from '@upfront/simulation'
import type { PrivateKeyAccount } from 'viem/accounts'
import { type Summary, startTruthStand, type TruthStand } from './truth-stand.js'

const WORKERS = 2
/** More than a request spares of its 50,000,000 gas for transactions of strangers. */
const MUCH_GAS = 15_000_000n

let stand: TruthStand

beforeAll(async () => {
  stand = await startTruthStand(3, { GATEWAY_WORKERS: String(WORKERS) })
})
afterAll(() => stand?.stop())

/** A new connection: connections go to the workers in turn. */
const NEW = { connection: 'close' }

async function ask({ address }: PrivateKeyAccount): Promise<{ depends: ShownDependencies; outcome: Outcome }> {
  const input = stand.swap({ address } as PrivateKeyAccount)
  const calls = [{ from: address, to: stand.uniswap.router, input }]
  const params = [{ blockStateCalls: [{ calls }], depends: true, outcome: true }, 'latest']
  const response = await stand.gateway.post(
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'upfront_simulate', params }),
    NEW,
  )
  const { result } = (await response.json()) as { result: [{ calls: [Awaited<ReturnType<typeof ask>>] }] }
  return result[0].calls[0]
}

async function summary(): Promise<Summary> {
  return (await fetch(`${stand.gateway.url}/v1/truth`, { headers: NEW })).json() as Promise<Summary>
}

/** The value of each worker, once `holds` for all. */
async function ofEach<T>(said: () => Promise<T>, holds: (one: T) => boolean): Promise<T[]> {
  for (;;) {
    const all: T[] = []
    while (all.length < 2 * WORKERS) all.push(await said())
    if (all.every(holds)) return all
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

it('scores in one worker, and all workers report the same and try waiting transactions', async () => {
  const [first, second, third] = stand.traders as [PrivateKeyAccount, PrivateKeyAccount, PrivateKeyAccount]
  await stand.send(first, stand.uniswap.router, stand.swap(first), 30n)
  await stand.send(second, stand.uniswap.router, stand.swap(second), 20n, undefined, MUCH_GAS)
  await ofEach(summary, ({ predicted }) => predicted === 2)
  const asked = await ofEach(
    () => ask(third),
    ({ outcome }) => outcome.leftOut !== undefined,
  )
  for (const { depends, outcome } of asked) {
    expect(Math.max(...depends.facts.map(({ waiting = 0 }) => waiting))).toBe(1)
    expect(outcome.because.map(({ under }) => under)).toContain('a place after a waiting transaction')
    // A stranger's transaction, which would use up the request's own limits.
    expect(outcome.leftOut).toEqual(["a waiting transaction: it takes more than is spared of the request's limits"])
  }
  await stand.mine()
  const summaries = await ofEach(summary, ({ judged }) => judged === 2)
  for (const one of summaries) expect(one).toMatchObject({ seen: 2, predicted: 2, judged: 2, hits: 1, explained: 1 })
  expect(await stand.gateway.metric('upfront_truth_predictions_total{outcome="hit"}')).toBe(1)
})
