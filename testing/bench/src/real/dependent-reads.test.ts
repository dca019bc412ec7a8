import type { RecordedState } from '@upfront/devnet'
import { DependentReads, type Step } from './dependent-reads.js'

const [FROM, TO, OTHER] = ['0xaa', '0xbb', '0xcc'].map((end) => `0x${end.slice(2).padStart(40, '0')}`) as [
  string,
  string,
  string,
]
const state = (codes: Record<string, string> = {}) =>
  ({ code: (address: string) => codes[address] ?? '0x' }) as unknown as RecordedState

/** `OP top …`: an instruction and the stack before it, top first. */
function steps(lines: string[], depth = 1): Step[] {
  return lines.map((line) => {
    const [op, ...stack] = line.split(' ') as [string, ...string[]]
    return { op, depth, stack: stack.reverse().map((word) => (word.startsWith('0x') ? word : `0x${word}`)) }
  })
}

/** The longest chain with dependencies on code, and by values alone. */
function longest(all: Step[], codes?: Record<string, string>): [number, number] {
  return [true, false].map((withCodes) => {
    const reads = new DependentReads(state(codes), withCodes)
    reads.follow({ from: FROM, to: TO }, all)
    return reads.longest
  }) as [number, number]
}

describe('DependentReads', () => {
  it('counts a slot named by the code as dependent on the code', () => {
    expect(longest(steps(['STOP']))).toEqual([1, 1])
    expect(longest(steps(['PUSH1', 'SLOAD 6', 'PUSH1 9', 'SLOAD 7 9', 'STOP']))).toEqual([2, 1])
  })

  it('tracks a value through the stack, memory and hashes', () => {
    const found = [
      'PUSH1',
      'SLOAD 6',
      'PUSH1 9',
      'MSTORE 0 9',
      'PUSH1',
      'PUSH1 20',
      'KECCAK256 0 20',
      'SLOAD 77',
      'STOP',
    ]
    expect(longest(steps(found))).toEqual([3, 2])
    const lost = ['PUSH1', 'SLOAD 6', 'POP 9', 'PUSH1', 'PUSH1 20', 'KECCAK256 0 20', 'SLOAD 77', 'STOP']
    expect(longest(steps(lost))).toEqual([2, 1])
  })

  it('tracks a value through a call: address, input and return data', () => {
    const call = [
      ...['PUSH1', 'SLOAD 6', 'PUSH1 cc', 'MSTORE 0 cc', 'PUSH1', 'PUSH1 20', 'PUSH1 0 20', 'PUSH1 20 0 20'],
      ...['PUSH1', 'SLOAD 6', 'PUSH1'],
    ]
    const all = [
      ...steps([...call, `STATICCALL 5000 ${OTHER} 0 20 0 20`]),
      ...steps(['PUSH1', 'CALLDATALOAD 0', 'SLOAD cc', 'PUSH1 dd', 'MSTORE 0 dd', 'PUSH1 20', 'PUSH1 0 20'], 2),
      ...steps(['RETURN 0 20'], 2),
      ...steps(['POP 1', 'PUSH1', 'MLOAD 0', 'SLOAD dd', 'STOP']),
    ]
    // Code, slot 6, the callee's code, its slot, a slot of the caller. By values alone, its code is as early as its slot.
    expect(longest(all)).toEqual([5, 3])
  })

  it('discards the writes of a reverted call', () => {
    const write = ['PUSH1', 'SLOAD 6', 'SLOAD 9', 'PUSH1 8', 'SSTORE 7 8']
    const read = ['PUSH1', 'SLOAD 7', 'SLOAD 99', 'STOP']
    const zeros = Array.from({ length: 6 }, (_, index) => `PUSH1${' 0'.repeat(index)}`)
    const call = (success: string) => [
      ...steps([...zeros, `DELEGATECALL 5000 ${TO} 0 0 0 0`]),
      ...steps([...write, success === '1' ? 'STOP' : 'REVERT 0 0'], 2),
      ...steps([`POP ${success}`, ...read]),
    ]
    expect([longest(call('1')), longest(call('0'))]).toEqual([
      [4, 3],
      [3, 2],
    ])
  })

  it('reads the code of an EIP-7702 delegation after the delegating account', () => {
    expect(longest(steps(['PUSH1', 'SLOAD 6', 'STOP']), { [TO]: `0xef0100${OTHER.slice(2)}` })).toEqual([3, 2])
  })

  it('reports a trace that ends early', () => {
    const reads = new DependentReads(state(), true)
    reads.follow({ from: FROM, to: TO }, steps(['PUSH1', 'STOP']))
    expect(reads.isWhole).toBe(true)
    reads.follow({ from: FROM, to: TO }, steps(['PUSH1', 'PUSH1 1']))
    expect(reads.isWhole).toBe(false)
  })
})
