import { recordedBlock } from '@upfront/devnet'
import { drive } from '@upfront/engine-conformance'
import {
  type BlockHeader,
  DEFAULT_SIMULATION_LIMITS,
  decodeSimulationRequest,
  type Hex,
  RpcError,
  ZERO_HASH,
} from '@upfront/protocol'
import {
  inspect,
  knownChainRules,
  type Outcome,
  ReadBudget,
  type StateRead,
  type StateValue,
  sealedBlockFromRpc,
} from '@upfront/simulation'
import { createRevmEngine } from '../../src/index.js'

const BLOCKS = ['zkpi-22188088', 'pevm-19929064', 'pevm-18085863', 'pevm-16257471', 'konab-26207962']

interface Transaction {
  hash: Hex
  from: Hex
  to?: Hex | null
  input: Hex
  value: Hex
  gas: Hex
  type: Hex
}

interface Judged {
  hash: Hex
  succeeded: boolean
  outcome: Outcome
}

/** What is said of each transaction of a real block, by itself on the parent's state. @param withGas: with its own gas limit */
async function judge(name: string, withGas: boolean): Promise<Judged[]> {
  const { chainId, parent, block, state, blockHashes } = recordedBlock(`${name}.json.br`)
  const rules = knownChainRules(BigInt(chainId))!
  const base: BlockHeader = sealedBlockFromRpc(parent).header
  const header = sealedBlockFromRpc(block).header
  const recordedValue = (read: StateRead): StateValue => {
    switch (read.kind) {
      case 'balance':
      case 'nonce':
        return BigInt(state[read.kind](read.address))
      case 'code':
        return state.code(read.address)
      case 'storage':
        return state.storage(read.address, read.slot)
      case 'blockHash':
        return blockHashes[String(read.number)] ?? ZERO_HASH
    }
  }
  const engine = createRevmEngine({ threads: 1 })
  const { signal } = new AbortController()
  const judged: Judged[] = []
  for (const { hash, from, to, input, value, gas, type } of block.transactions as Transaction[]) {
    if (type === '0x7e') continue
    const call = { from, ...(to && { to }), input, value, ...(withGas && { gas }) }
    const blockOverrides = { time: `0x${header.timestamp.toString(16)}` }
    const params = [{ blockStateCalls: [{ blockOverrides, calls: [call] }] }, 'latest']
    const answer = await unlessRefused(() =>
      inspect(
        {
          request: decodeSimulationRequest(params, DEFAULT_SIMULATION_LIMITS),
          base,
          state: { block: { header: base, key: base.hash }, key: base.hash, layers: [] },
          rules,
          driver: {
            simulate: (plan, point) =>
              drive(engine.begin(plan, point, { signal }), { read: (reads) => reads.map(recordedValue) }),
          },
          limits: DEFAULT_SIMULATION_LIMITS,
          budget: new ReadBudget(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
          cancellation: { signal },
          dialect: 'ethereum',
        },
        { stateDiff: false, accessLists: false, assetChanges: false, gasLimits: false, outcome: true },
      ),
    )
    // It hangs on those before it.
    if (answer === undefined) continue
    const [{ calls }] = JSON.parse(answer.json.toString())
    judged.push({ hash, succeeded: calls[0].status === '0x1', outcome: calls[0].outcome })
  }
  await engine.close()
  return judged
}

async function unlessRefused<T>(work: () => PromiseLike<T> | T): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RpcError) return undefined
    throw error
  }
}

describe('transactions of real blocks', () => {
  it('are watched in one of a hundred at most', async () => {
    const all: Judged[] = []
    for (const name of BLOCKS) for (const withGas of [false, true]) all.push(...(await judge(name, withGas)))
    const watched = all.filter(({ outcome }) => outcome.verdict === 'watched')
    const names = watched.map(({ hash, outcome }) => `${hash}: ${JSON.stringify(outcome.because[0])}`)
    expect(all.length).toBeGreaterThan(900)
    expect(all.filter(({ succeeded }) => succeeded).length).toBeGreaterThan(850)
    expect({ names, isTooMany: watched.length > all.length / 100 }).toMatchObject({ isTooMany: false })
  }, 300_000)
})
