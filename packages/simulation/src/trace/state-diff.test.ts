import type { AccountFacts, CallRecord, RecordedAccount } from '../engine/call-record.js'
import { stateDiff } from './state-diff.js'

const A = `0x${'aa'.repeat(20)}` as const
const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}` as const
const facts = (balance: bigint): AccountFacts => ({ exists: true, balance, nonce: 0n, codeHash: word(0) })
const record = (account: Partial<RecordedAccount>): CallRecord => ({
  gas: 0n,
  gasUsed: 0n,
  frames: [],
  probed: [],
  probeGas: 0n,
  preimages: [],
  accounts: [
    {
      address: A,
      isRead: true,
      isAccessed: true,
      isRemoved: false,
      before: facts(1n),
      after: facts(1n),
      slots: [],
      ...account,
    },
  ],
})
const slot = (before: number, after: number) => ({
  slot: word(7),
  isRead: true,
  isAccessed: true,
  before: word(before),
  after: word(after),
})

describe('stateDiff', () => {
  it('shows the values before the first call and after the last', () => {
    const records = [
      record({ before: facts(1n), after: facts(2n), slots: [slot(1, 2)] }),
      record({ before: facts(2n), after: facts(3n), slots: [slot(2, 3)] }),
    ]
    expect(stateDiff(records)).toEqual({
      [A]: { balance: { from: '0x1', to: '0x3' }, storage: { [word(7)]: { from: word(1), to: word(3) } } },
    })
  })

  it('leaves out values that change back', () => {
    const records = [
      record({ before: facts(1n), after: facts(2n), slots: [slot(1, 2)] }),
      record({ before: facts(2n), after: facts(1n), slots: [slot(2, 1)] }),
    ]
    expect(stateDiff(records)).toEqual({})
  })

  it('shows the code that an account receives', () => {
    expect(stateDiff([record({ after: { ...facts(1n), code: '0x60' } })])).toEqual({
      [A]: { code: { from: '0x', to: '0x60' } },
    })
  })
})
