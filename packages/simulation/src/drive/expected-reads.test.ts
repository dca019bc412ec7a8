import type { Address, BlockHeader, Hash } from '@upfront/protocol'
import type { StateRead } from '../engine/state.js'
import type { PlannedBlock, SimulationPlan } from '../plan/simulation-plan.js'
import { expectedReads } from './expected-reads.js'

const A: Address = '0x000000000000000000000000000000000000aaaa'
const B: Address = '0x000000000000000000000000000000000000bbbb'
const SLOT: Hash = `0x${'00'.repeat(31)}09`

function plan(...blocks: Partial<PlannedBlock>[]): SimulationPlan {
  const defaults = {
    number: 8192n,
    timestamp: 8191n + 5n,
    feeRecipient: '0x00000000000000000000000000000000000000fe',
    rules: { fork: 'paris' },
    stateOverrides: [],
    withdrawals: [],
    calls: [],
  }
  return {
    base: {} as BlockHeader,
    blocks: blocks.map((block) => ({ ...defaults, ...block })),
  } as unknown as SimulationPlan
}
const call = (from: Address, to: Address | null) =>
  ({ from, to, input: '0x', accessList: [{ address: B, storageKeys: [SLOT] }] }) as unknown as PlannedBlock['calls'][0]
const of = (reads: StateRead[], address: Address) =>
  reads.filter((read) => read.kind !== 'blockHash' && read.address === address).map(({ kind }) => kind)

describe('what a plan is bound to read', () => {
  it('is senders, targets and access lists, each once', () => {
    const reads = expectedReads(plan({ calls: [call(A, B), call(B, A)] }), 100, true)
    expect(of(reads, A)).toEqual(['balance', 'nonce', 'code'])
    expect(of(reads, B)).toEqual(['balance', 'nonce', 'code', 'storage'])
  })

  it('is not what the overrides replace, from their block on', () => {
    const override = { address: A, balance: 1n, code: '0x' as const }
    const withDiff = { address: B, stateDiff: [[SLOT, SLOT]] as [Hash, Hash][] }
    const reads = expectedReads(plan({ stateOverrides: [override, withDiff], calls: [call(A, B)] }), 100, true)
    expect(of(reads, A)).toEqual(['nonce'])
    expect(of(reads, B)).toEqual(['balance', 'nonce', 'code'])
    const later = expectedReads(plan({ calls: [call(A, B)] }, { stateOverrides: [override] }), 100, true)
    expect(of(later, A)).toEqual(['balance', 'nonce', 'code'])
  })

  it('is what the system calls of the fork touch', () => {
    const slots = (fork: PlannedBlock['rules']) =>
      expectedReads(plan({ rules: fork }), 100, true).filter(({ kind }) => kind === 'storage')
    expect(slots({ fork: 'shanghai' })).toEqual([])
    expect(slots({ fork: 'cancun' }).map((read) => read.kind === 'storage' && BigInt(read.slot))).toEqual([5n, 8196n])
    expect(slots({ fork: 'osaka' })).toHaveLength(2 + 1 + 4 + 4)
    expect(slots({ fork: 'prague', opFork: 'isthmus' })).toHaveLength(2 + 1 + 6)
  })

  it('is bounded', () => {
    const calls = Array.from({ length: 500 }, (_, n) => call(`0x${(n + 4096).toString(16).padStart(40, '0')}`, null))
    expect(expectedReads(plan({ calls }), 100, true)).toHaveLength(100)
  })
})
