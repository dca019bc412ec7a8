import { drive, type RecordedAccount, RecordedChain, recordedJson, valueOfAccounts } from '@upfront/engine-conformance'
import type { Hash } from '@upfront/protocol'
import {
  type BlockToCarry,
  blockToCarry,
  type Carried,
  carryRules,
  type StateRead,
  sealedBlockFromRpc,
} from '@upfront/simulation'
import type { RevmEngine } from '../../src/index.js'
import { BUILDS } from '../builds.js'

const RECORDING = 'conformance-op'
const cancellation = { signal: new AbortController().signal }

describe.each(BUILDS)('state carried over blocks that op-geth made, on the %s build', (_build, create) => {
  const { rules } = new RecordedChain(RECORDING)
  const blocks = recordedJson(RECORDING, 'chain', 'blocks.json').map(sealedBlockFromRpc) as ReturnType<
    typeof sealedBlockFromRpc
  >[]
  const genesis = recordedJson(RECORDING, 'chain', 'genesis.json').alloc as Record<string, RecordedAccount>
  const headState = recordedJson(RECORDING, 'chain', 'head-state.json') as Record<string, RecordedAccount>
  const lower = Object.fromEntries(
    Object.entries(genesis).map(([address, account]) => [address.toLowerCase(), account]),
  )
  const valueAtGenesis = valueOfAccounts(lower, (number) => blocks[Number(number)]?.header.hash)
  let engine: RevmEngine
  beforeEach(() => {
    engine = create({ threads: 2 })
  })
  afterEach(() => engine.close())

  const toCarry = (index: number): BlockToCarry => {
    const [parent, block] = [blocks[index - 1]!, blocks[index]!]
    return blockToCarry(block, rules, carryRules(rules, block.header, parent.header)!)
  }
  /** Values never written are the genesis block's; the engine has all others. */
  let rounds = 0
  const source = {
    read: (reads: readonly StateRead[]) => {
      rounds++
      return reads.map(valueAtGenesis)
    },
  }
  const carry = (index: number, block = toCarry(index)): Promise<Carried> => {
    const at = { key: blocks[index - 1]!.header.hash, layers: [] }
    return drive(engine.carry(block, at, cancellation), source)
  }

  it('equals the node’s state at the head, with deposits, L1 fees and operator fees', async () => {
    engine.provide(blocks[0]!.header.hash, [], [])
    for (let index = 1; index < blocks.length; index++)
      expect({ index, ...(await carry(index)) }).toMatchObject({ index, kind: 'carried' })
    const head = blocks.at(-1)!.header.hash
    const reads = Object.entries({ ...lower, ...headState }).flatMap(([account, { storage = {} }]) => {
      const address = account as Hash
      const words: StateRead[] = Object.keys({ ...storage, ...lower[account]?.storage }).map((slot) => {
        return { kind: 'storage', address, slot: slot as Hash }
      })
      return [
        { kind: 'balance', address },
        { kind: 'nonce', address },
        { kind: 'code', address },
        ...words,
      ] as StateRead[]
    })
    const valueAtHead = valueOfAccounts(headState)
    const known = engine.known(head, reads)
    expect(known.filter((value) => value !== undefined).length).toBeGreaterThan(100)
    for (const [index, read] of reads.entries())
      expect({ read, value: known[index] ?? valueAtGenesis(read) }).toEqual({ read, value: valueAtHead(read) })
  })

  it('reads missing state in at most 5 rounds per block', async () => {
    engine.provide(blocks[0]!.header.hash, [], [])
    const taken: number[] = []
    for (let index = 1; index < blocks.length; index++) {
      const before = rounds
      await carry(index)
      taken.push(rounds - before)
    }
    const transactions = blocks.reduce((sum, block) => sum + block.transactions.length, 0)
    expect(transactions).toBeGreaterThan(70)
    expect(Math.max(...taken)).toBeLessThanOrEqual(5)
    expect(taken.reduce((sum, each) => sum + each)).toBeLessThan(transactions / 2)
  })

  it.each<[keyof BlockToCarry, string]>([
    ['receiptsRoot', 'receiptsRoot'],
    ['transactionsRoot', 'transactionsRoot'],
    ['withdrawals', 'withdrawalsRoot'],
    ['gasUsed', 'gasUsed'],
    ['logsBloom', 'logsBloom'],
    ['blobGasUsed', 'blobGasUsed'],
  ])('is not carried if the header has another %s', async (field, difference) => {
    engine.provide(blocks[0]!.header.hash, [], [])
    await carry(1)
    const block = toCarry(2)
    const wrong: Record<string, unknown> = {
      withdrawals: [{ index: 0n, validatorIndex: 0n, address: `0x${'11'.repeat(20)}`, amount: 1n }],
      logsBloom: `0x01${block.logsBloom.slice(4)}`,
      ...{ gasUsed: block.gasUsed + 1n, blobGasUsed: (block.blobGasUsed ?? 0n) + 1n },
    }
    const other = { ...block, [field]: wrong[field] ?? `0x${'12'.repeat(32)}` } as BlockToCarry
    expect(await carry(2, other)).toMatchObject({ kind: 'differs', difference })
    expect(engine.holds(block.hash)).toBe(false)
    expect(await carry(2)).toMatchObject({ kind: 'carried' })
  })

  it.each<[string, (block: BlockToCarry) => void]>([
    ['value', ({ transactions: [, tx] }) => (tx!.value += 1n)],
    ['nonce', ({ transactions: [, tx] }) => (tx!.nonce += 1n)],
    ['input of a deposit', ({ transactions: [tx] }) => (tx!.input = '0x01')],
    ['mint of a deposit', ({ transactions: [tx] }) => (tx!.deposit!.mint += 1n)],
    ['signature', ({ transactions: [, tx] }) => (tx!.s += 1n)],
    ['type', ({ transactions: [, tx] }) => (tx!.type = 5)],
  ])('is not carried if a transaction has another %s than its hash commits to', async (_name, change) => {
    engine.provide(blocks[0]!.header.hash, [], [])
    await carry(1)
    const block = toCarry(2)
    change(block)
    expect(await carry(2, block)).toMatchObject({ kind: 'differs', difference: 'transactionHash' })
  })
})
