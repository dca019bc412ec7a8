import type { BlockHeader, Hash } from '@upfront/protocol'
import {
  type BlockExecution,
  type BlockExecutionResult,
  type ChainRules,
  ExecutionRejected,
  type StatePoint,
  type Step,
} from '@upfront/simulation'
import { flashblockMessage, hashOf } from '../../test/flashblock-message.js'
import { flashblockFromJson } from './flashblock.js'
import type { CanonicalBlock, PreconfirmedEvent } from './flashblock-store.js'
import { PreconfirmedChain } from './preconfirmed-chain.js'
import { newestBlock } from './snapshot.js'

const GAS = 21_000
const RULES: ChainRules = {
  chainId: 1n,
  stack: 'ethereum',
  source: 'inferred',
  forks: [{ fork: 'osaka', timestamp: 0n }],
  blobSchedule: [],
  schedule: { blockTime: 12n },
}

describe('PreconfirmedChain', () => {
  it('shows each flashblock as a new snapshot of the same block', async () => {
    const { chain, receive, settled } = follow(10)
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    await settled()
    const first = chain.current()
    receive({ number: 11, index: 1, transactions: ['0x02', '0x03'] })
    await settled()
    expect(transactions(chain)).toEqual([['0x01', '0x02', '0x03']])
    expect(newestBlock(chain.current()!)).toMatchObject({ index: 1, gasUsed: 63_000n })
    expect(chain.current()!.state.layers).toHaveLength(2)
    expect(first!.state.layers).toHaveLength(1)
  })

  it('ignores duplicate flashblocks', async () => {
    const { chain, receive, settled } = follow(10)
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    await settled()
    const shown = chain.current()
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    await settled()
    expect(chain.current()).toBe(shown)
  })

  it('shows only the flashblocks before a missing index, and continues once that one arrives', async () => {
    const { chain, receive, settled } = follow(10)
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    receive({ number: 11, index: 2, transactions: ['0x03'], gasUsed: 3 * GAS })
    await settled()
    expect(transactions(chain)).toEqual([['0x01']])
    receive({ number: 11, index: 1, transactions: ['0x02'], gasUsed: 2 * GAS })
    await settled()
    expect(transactions(chain)).toEqual([['0x01', '0x02', '0x03']])
  })

  it('builds no block on one that lacks a flashblock', async () => {
    const { chain, receive, settled } = follow(10)
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    receive({ number: 11, index: 2, transactions: ['0x03'] })
    receive({ number: 12, index: 0, transactions: ['0x04'] })
    await settled()
    expect(transactions(chain)).toEqual([['0x01']])
  })

  it('replaces the first payload of a block by a second one, also right after index 0', async () => {
    const { chain, receive, settled } = follow(10)
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    await settled()
    receive({ number: 11, index: 0, payloadId: '0x0202020202020202', transactions: ['0x0a'] })
    receive({ number: 11, index: 1, payloadId: '0x0202020202020202', transactions: ['0x0b'], gasUsed: 2 * GAS })
    receive({ number: 11, index: 1, transactions: ['0x02'], gasUsed: 2 * GAS })
    await settled()
    expect(transactions(chain)).toEqual([['0x0a', '0x0b']])
  })

  it('hides a block whose parent is not the head until the head is that parent', async () => {
    const { chain, receive, head, settled } = follow(10)
    receive({ number: 11, index: 0, parentHash: hashOf(10, 1), transactions: ['0x01'] })
    await settled()
    expect(chain.current()).toBeUndefined()
    head(10, { fork: 1 })
    await settled()
    expect(transactions(chain)).toEqual([['0x01']])
  })

  it('builds the next block on an unsealed one, and does not execute it again once that one is sealed', async () => {
    const { chain, receive, head, settled, events } = follow(10)
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    receive({ number: 12, index: 0, transactions: ['0x02'] })
    await settled()
    expect(transactions(chain)).toEqual([['0x01'], ['0x02']])
    const executions = events.filter((event) => event.kind === 'visible').length
    head(11, { transactions: ['0x01'] })
    await settled()
    expect(transactions(chain)).toEqual([['0x02']])
    expect(chain.current()!.head.number).toBe(11n)
    expect(events.filter((event) => event.kind === 'visible')).toHaveLength(executions)
    expect(events).toContainEqual({ kind: 'folded', blockNumber: 11n })
  })

  it('executes the next block again if the sealed block holds other transactions', async () => {
    const { chain, receive, head, settled, events } = follow(10)
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    receive({ number: 12, index: 0, transactions: ['0x02'] })
    await settled()
    head(11, { transactions: ['0x01', '0x09'] })
    await settled()
    expect(transactions(chain)).toEqual([['0x02']])
    expect(chain.current()!.state.key).toBe(hashOf(11))
    expect(events).toContainEqual({ kind: 'differs', blockNumber: 11n })
    expect(events.filter((event) => event.kind === 'visible')).toHaveLength(3)
  })

  it('returns the executed part of a sealed block, before and after it is the head, for equal header and transactions only', async () => {
    const { chain, receive, head, settled } = follow(10)
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    await settled()
    const sealed = sealedAs(11)
    const all: Hash[] = ['0x01', '0x02']
    const part = chain.executed(sealed, all)
    expect(part).toMatchObject({ layers: [expect.anything()], receipts: [expect.anything()] })
    head(11, { transactions: all })
    await settled()
    expect(chain.executed(sealed, all)).toEqual(part)
    expect(chain.executed(sealed, ['0x02', '0x01'])).toBeUndefined()
    expect(chain.executed({ ...sealed, timestamp: 12n }, all)).toBeUndefined()
    expect(chain.executed({ ...sealed, parentHash: hashOf(10, 1) }, all)).toBeUndefined()
    head(12)
    await settled()
    expect(chain.executed(sealed, all)).toEqual(part)
    receive({ number: 13, index: 0, transactions: ['0x03'] })
    await settled()
    head(13, { transactions: ['0x03'] })
    await settled()
    expect(chain.executed(sealed, all)).toBeUndefined()
  })

  it('falls back to the head once the last preconfirmed block is sealed', async () => {
    const { chain, receive, head, settled } = follow(10)
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    await settled()
    head(11, { transactions: ['0x01'] })
    await settled()
    expect(chain.current()).toBeUndefined()
  })

  it('drops blocks on a head that was reorganised away, and shows them again if that head returns', async () => {
    const { chain, receive, head, settled, events } = follow(10)
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    await settled()
    head(10, { fork: 1 })
    await settled()
    expect(chain.current()).toBeUndefined()
    expect(events).toContainEqual({ kind: 'reorganised', blockNumber: 10n })
    head(10)
    await settled()
    expect(transactions(chain)).toEqual([['0x01']])
  })

  it('drops a flashblock whose gas differs from our execution, and all after it', async () => {
    const { chain, receive, settled, events } = follow(10)
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    receive({ number: 11, index: 1, transactions: ['0x02'], gasUsed: 99 })
    receive({ number: 11, index: 2, transactions: ['0x03'], gasUsed: 3 * GAS + 1 })
    await settled()
    expect(transactions(chain)).toEqual([['0x01']])
    expect(events).toContainEqual(expect.objectContaining({ kind: 'mismatch', index: 1 }))
  })

  it('drops a flashblock with an invalid transaction', async () => {
    const { chain, receive, settled, events } = follow(10)
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    receive({ number: 11, index: 1, transactions: ['0xee'], gasUsed: 2 * GAS })
    await settled()
    expect(transactions(chain)).toEqual([['0x01']])
    expect(events).toContainEqual(
      expect.objectContaining({ kind: 'mismatch', index: 1, reason: 'transaction 0: invalid' }),
    )
  })

  it('executes a mismatching block again once its parent is the head', async () => {
    const { chain, receive, head, settled, events } = follow(10)
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    receive({ number: 12, index: 0, transactions: ['0x02'] })
    receive({ number: 12, index: 1, transactions: ['0xdd'], gasUsed: 2 * GAS })
    await settled()
    expect(transactions(chain)).toEqual([['0x01'], ['0x02']])
    expect(events).toContainEqual(expect.objectContaining({ kind: 'mismatch', blockNumber: 12n, index: 1 }))
    head(11, { transactions: ['0x01', '0x09'] })
    await settled()
    expect(transactions(chain)).toEqual([['0x02', '0xdd']])
  })

  it('drops a flashblock that calls a native precompile, and all after it', async () => {
    const { chain, receive, settled, events } = follow(10)
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    receive({ number: 11, index: 1, transactions: ['0x02', '0xb2'], gasUsed: 3 * GAS })
    receive({ number: 11, index: 2, transactions: ['0x03'], gasUsed: 4 * GAS })
    await settled()
    expect(transactions(chain)).toEqual([['0x01']])
    const refused = { kind: 'nativePrecompile', blockNumber: 11n, index: 1, reason: 'transaction 1: not simulated' }
    expect(events.filter(({ kind }) => kind === 'mismatch' || kind === 'nativePrecompile')).toEqual([refused])
  })

  it('builds no block on one that may have lost flashblocks with the connection', async () => {
    const { chain, receive, head, settled } = follow(10)
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    await settled()
    chain.onInterrupted()
    receive({ number: 12, index: 0, transactions: ['0x02'] })
    await settled()
    expect(transactions(chain)).toEqual([['0x01']])
    head(11, { transactions: ['0x01', '0x09'] })
    await settled()
    expect(transactions(chain)).toEqual([['0x02']])
  })

  it('ignores blocks far from the head', async () => {
    const { chain, receive, settled, events } = follow(10)
    receive({ number: 1_011, index: 0, transactions: ['0x01'] })
    receive({ number: 3, index: 0, transactions: ['0x01'] })
    await settled()
    expect(chain.current()).toBeUndefined()
    expect(events.map((event) => event.kind === 'arrival' && event.arrival)).toEqual(['ahead', 'stale'])
  })

  it('falls back to the head after an unexpected error, and starts again with the next flashblock', async () => {
    const { chain, receive, settled, events, failNext } = follow(10)
    receive({ number: 11, index: 0, transactions: ['0x01'] })
    await settled()
    failNext()
    receive({ number: 11, index: 1, transactions: ['0x02'] })
    await settled()
    expect(events).toContainEqual({ kind: 'failed', reason: 'unforeseen' })
    expect(chain.current()).toBeUndefined()
    receive({ number: 11, index: 2, transactions: ['0x03'] })
    await settled()
    expect(transactions(chain)).toEqual([['0x01', '0x02', '0x03']])
  })
})

/** The header of a block as `flashblockMessage` announces it. */
function sealedAs(number: number): BlockHeader {
  const zero = (length: number): Hash => `0x${'00'.repeat(length)}`
  const header = {
    ...{ number: BigInt(number), timestamp: BigInt(number), parentHash: hashOf(number - 1) },
    ...{ gasLimit: 0x1c9c380n, miner: zero(20), mixHash: zero(32), baseFeePerGas: 7n, parentBeaconBlockRoot: zero(32) },
  }
  return header as Partial<BlockHeader> as BlockHeader
}

function transactions(chain: PreconfirmedChain) {
  return chain.current()?.blocks.map((block) => block.transactions.map((transaction) => transaction.hash))
}

/**
 * A chain whose executor charges 21,000 gas for any transaction; a hash is the transaction's bytes. 0xee is invalid, and so is 0xdd except
 * on the sealed block 11; 0xb2 reaches a native precompile.
 */
function follow(headNumber: number) {
  const events: PreconfirmedEvent[] = []
  let layers = 0
  let fails = false
  const execute = async (execution: BlockExecution, at: StatePoint): Promise<Step<BlockExecutionResult>> => {
    await new Promise((resolve) => setTimeout(resolve, 1))
    const native = execution.transactions.indexOf('0xb2')
    if (native !== -1) throw new ExecutionRejected('not simulated', native, `0x${'b2'.repeat(20)}`)
    const invalid = execution.transactions.findIndex(
      (raw) => raw === '0xee' || (raw === '0xdd' && at.key !== hashOf(11)),
    )
    if (invalid !== -1) throw new ExecutionRejected('invalid', invalid)
    const count = execution.earlierReceipts.length + execution.transactions.length
    const outcome = {
      layers: [{ id: `layer-${layers++}`, accounts: new Map() }],
      transactions: execution.transactions.map((raw) => ({ hash: raw, from: raw, to: null, nonce: 0n, raw })),
      receipts: execution.transactions.map((raw) => ({
        type: 2,
        succeeded: true,
        cumulativeGasUsed: 0n,
        gasUsed: 21_000n,
        effectiveGasPrice: 7n,
        logs: [],
        contractAddress: null,
        encoded: raw,
      })),
      gasUsed: BigInt(count * GAS),
      blobGasUsed: 0n,
      receiptsRoot: hashOf(0),
      logsBloom: '0x' as const,
    }
    return { kind: 'done', outcome }
  }
  const canonical = (number: number, options: { fork?: number; transactions?: string[] } = {}): CanonicalBlock => ({
    header: {
      number: BigInt(number),
      hash: hashOf(number, options.fork),
      parentHash: hashOf(number - 1),
      gasUsed: BigInt((options.transactions ?? []).length * GAS),
    } as BlockHeader,
    transactionHashes: (options.transactions ?? []) as Hash[],
    reorganised: options.fork !== undefined,
  })
  const chain = new PreconfirmedChain(
    {
      get rules() {
        if (!fails) return RULES
        fails = false
        throw new Error('unforeseen')
      },
      executor: { execute, prefetch: () => ({ kind: 'done', outcome: undefined }) },
      driver: { run: allDone, readAhead: () => undefined },
      observe: (event) => events.push(event),
      executionTimeoutMs: 1_000,
    },
    canonical(headNumber),
  )
  return {
    chain,
    events,
    failNext: () => {
      fails = true
    },
    receive: (options: Parameters<typeof flashblockMessage>[0]) =>
      chain.onFlashblock(
        flashblockFromJson(
          JSON.stringify(
            flashblockMessage({
              ...options,
              gasUsed: options.gasUsed ?? gasSoFar(options.transactions, options.index),
            }),
          ),
        ),
      ),
    head: (number: number, options?: { fork?: number; transactions?: string[] }) =>
      chain.onHead(canonical(number, options)),
    settled: async () => {
      do await new Promise((resolve) => setTimeout(resolve, 2))
      while (chain.isBusy)
    },
  }
}

/** The read loop of work that needs no values. */
async function allDone<T>(begin: () => Step<T> | Promise<Step<T>>): Promise<T> {
  const step = await begin()
  if (step.kind === 'lacking') throw new Error('no state in this test')
  return step.outcome
}

function gasSoFar(added: string[] | undefined, index: number) {
  return (index + (added?.length ?? 0)) * GAS
}
