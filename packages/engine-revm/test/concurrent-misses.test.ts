import type { Address, BlockHeader, Hash } from '@upfront/protocol'
import { ZERO_HASH } from '@upfront/protocol'
import { knownChainRules, planSimulation, type StateSource } from '@upfront/simulation'
import { createRevmEngine, loadRevm } from '../src/index.js'

const { reason } = loadRevm()
if (reason !== undefined) console.warn(`concurrent-misses: not tried, ${reason}`)
const withRevm = reason === undefined ? describe : describe.skip

const LIMITS = { blocks: 256, callsPerBlock: 100, totalCalls: 100, gas: 50_000_000n }
const ALICE: Address = '0x00000000000000000000000000000000000a11ce'
const BOB: Address = '0x0000000000000000000000000000000000000b0b'
const HASH: Hash = `0x${'12'.repeat(32)}`

/** A block of Ethereum's Shanghai days: it has no system calls. */
const base: BlockHeader = {
  hash: HASH,
  parentHash: ZERO_HASH,
  sha3Uncles: ZERO_HASH,
  miner: BOB,
  stateRoot: ZERO_HASH,
  transactionsRoot: ZERO_HASH,
  receiptsRoot: ZERO_HASH,
  logsBloom: `0x${'00'.repeat(256)}`,
  difficulty: 0n,
  number: 17_500_000n,
  gasLimit: 30_000_000n,
  gasUsed: 0n,
  timestamp: 1_690_000_000n,
  extraData: '0x',
  mixHash: ZERO_HASH,
  nonce: '0x0000000000000000',
  baseFeePerGas: 1_000_000_000n,
  withdrawalsRoot: ZERO_HASH,
}

const transfer = () => {
  const request = {
    blockStateCalls: [{ calls: [{ from: ALICE, to: BOB, value: 1n }], stateOverrides: [], blockOverrides: {} }],
    traceTransfers: false,
    validation: false,
    returnFullTransactions: false,
    block: { kind: 'tag', tag: 'latest' } as const,
  }
  return planSimulation(request, base, knownChainRules(1n)!, LIMITS)
}

withRevm('simulations that miss the same state at the same time', () => {
  it('all end, and never hold up the event loop that answers their reads', async () => {
    const engine = createRevmEngine()
    const state: StateSource = {
      key: HASH,
      blockNumber: base.number,
      layers: [],
      async read(reads) {
        await new Promise((resolve) => setTimeout(resolve, 100))
        return reads.map(({ kind }) => (kind === 'code' ? '0x' : 10n ** 18n))
      },
    }
    const simulateAfter = async (milliseconds: number) => {
      await new Promise((resolve) => setTimeout(resolve, milliseconds))
      return engine.simulate(transfer(), state, new AbortController().signal)
    }
    const outcomes = await Promise.all([0, 20, 40, 60].map(simulateAfter))
    for (const { blocks } of outcomes) expect(blocks[0]?.calls[0]?.succeeded).toBe(true)
    await engine.close()
  })

  it('go on with reads of their own where the one that asked first has left', async () => {
    const engine = createRevmEngine()
    const first = new AbortController()
    const reads: number[] = []
    const state: StateSource = {
      key: HASH,
      blockNumber: base.number,
      layers: [],
      async read(asked, signal) {
        reads.push(asked.length)
        if (signal === first.signal)
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        return asked.map(({ kind }) => (kind === 'code' ? '0x' : 10n ** 18n))
      },
    }
    const left = expect(engine.simulate(transfer(), state, first.signal)).rejects.toThrow('left')
    const stayed = Promise.all([1, 2].map(() => engine.simulate(transfer(), state, new AbortController().signal)))
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(reads).toHaveLength(1)
    first.abort(new Error('left'))
    await left
    for (const { blocks } of await stayed) expect(blocks[0]?.calls[0]?.succeeded).toBe(true)
    await engine.close()
  })
})
