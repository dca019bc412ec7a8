import { findGeth, testTokenAbi } from '@upfront/devnet'
import { encodeFunctionData, parseEther, toHex } from 'viem'
import { type Miss, startTruthStand, type TruthStand } from './truth-stand.js'

/**
 * `TRUTH_BLOCKS=300` runs the long form on geth with a block every 200 ms, whatever was predicted by then, and prints the cost of scoring.
 * While anvil mines, it answers reads of the block before with the new one's state, so the short form asks nothing then.
 */
const LONG = process.env.TRUTH_BLOCKS !== undefined
const BLOCKS = Number(process.env.TRUTH_BLOCKS ?? 3)
const BLOCK_MS = 200
/** Per block: half of them trade with one pool, the others with none. */
const TRANSACTIONS = 4

let stand: TruthStand

beforeAll(async () => {
  const geth = LONG ? findGeth() : undefined
  if (LONG && geth === undefined) throw new Error('the long form needs geth')
  stand = await startTruthStand(LONG ? 4 * TRANSACTIONS : TRANSACTIONS, {}, geth)
})
afterAll(() => stand?.stop())

/** A block's transactions; each trader has one in every few blocks. */
async function sendBlock(block: number): Promise<void> {
  const { traders, send, swap, uniswap } = stand
  const turns = traders.length / TRANSACTIONS
  const { token0, router } = uniswap
  for (let at = 0; at < TRANSACTIONS; at += 1) {
    const trader = traders[(block % turns) * TRANSACTIONS + at]!
    const isContended = at % 2 === 0
    const to = toHex((BigInt(block + 1) << 64n) | BigInt(at + 1), { size: 20 })
    const args = [to, parseEther('1')] as const
    const transfer = () => encodeFunctionData({ abi: testTokenAbi, functionName: 'transfer', args })
    const nonce = Math.floor(block / turns) + 1
    const priority = BigInt(TRANSACTIONS - at)
    await send(trader, isContended ? router : token0, isContended ? swap(trader) : transfer(), priority, nonce)
  }
}

it(
  `explains every miss of ${BLOCKS} blocks by a named dependency, with half of the transactions contended`,
  async () => {
    const { gateway, mine, until, summary } = stand
    const startedAt = performance.now()
    for (let block = 0; block < BLOCKS; block += 1) {
      const due = new Promise((resolve) => setTimeout(resolve, LONG ? BLOCK_MS : 0))
      await sendBlock(block)
      if (!LONG) await until('predicted', (block + 1) * TRANSACTIONS)
      await due
      await mine()
      if (!LONG) await until('judged', (block + 1) * TRANSACTIONS)
    }
    while ((await gateway.metric('upfront_truth_waiting')) > 0) await new Promise((resolve) => setTimeout(resolve, 100))
    const found = await summary()
    const { judged, hits, explained, misses } = found
    if (LONG) {
      const seconds = (performance.now() - startedAt) / 1_000
      const busy = await gateway.metric('upfront_truth_busy_seconds_total')
      const { seen, predicted } = found
      const others = misses.filter(({ why }) => why !== 'dependency').length
      console.log({ seconds, seen, predicted, judged, hits, explained, others, shareOfCore: busy / seconds })
    }
    const contended = LONG ? 1 : BLOCKS * (TRANSACTIONS / 2 - 1)
    expect(misses.length).toBeGreaterThanOrEqual(contended)
    expect(hits).toBeGreaterThanOrEqual(LONG ? 1 : BLOCKS * (TRANSACTIONS / 2))
    // Changed by other trades, or by the time if these agree: the pool stores a price for each second.
    const named = ({ why, because: [first] }: Miss) =>
      (why === 'dependency' && first?.fact.address !== undefined) || (why === 'block' && first?.fact.kind === 'time')
    expect(misses.filter((miss) => !named(miss))).toEqual([])
    // The named fact is the proven cause, not just a difference.
    expect(misses.filter(({ proof }) => proof !== 'alone' && proof !== 'together')).toEqual([])
    expect(judged).toBe(hits + explained)
  },
  LONG ? 540_000 : 120_000,
)
