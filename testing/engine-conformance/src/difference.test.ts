import { differences, differencesFromNode, inOurWords } from './difference.js'

const block = (hash: string, stateRoot: string, more: object = {}) => ({ hash: `0x${hash}`, stateRoot, ...more })

describe('differences', () => {
  it('lists each place with both values, also missing ones', () => {
    expect(differences({ a: [1, 2], b: 3 }, { a: [1, 4], c: 5 })).toEqual([
      '.a.1: 2 expected, 4 found',
      '.b: 3 expected, nothing found',
      '.c: nothing expected, 5 found',
    ])
  })
})

describe('differencesFromNode', () => {
  it('compares blocks by position, not by hash', () => {
    const theirs = { result: [block('aa', '0x1'), block('bb', '0x2', { parentHash: '0xaa' })] }
    const ours = { result: [block('cc', '0x0'), block('dd', '0x0', { parentHash: '0xcc' })], touched: {} }
    expect(differencesFromNode(theirs, ours)).toEqual([])
    ours.result[1] = block('dd', '0x0', { parentHash: '0xdd' })
    expect(differencesFromNode(theirs, ours)).toHaveLength(1)
  })

  it('compares error codes and messages', () => {
    const error = { code: -38012, message: 'base fee too low', data: '0x' }
    expect(differencesFromNode({ error }, { error: { code: -38012, message: 'base fee too low' } })).toEqual([])
    expect(differencesFromNode({ error }, { error: { code: -32000, message: 'base fee too low' } })).toHaveLength(1)
    expect(differencesFromNode({ error }, { result: [] })).toHaveLength(2)
  })
})

describe('inOurWords', () => {
  const halted = (message: string) => ({ result: [{ calls: [{ error: { message } }] }] })

  it.each(['gas uint64 overflow', 'out of gas: gas uint64 overflow', 'out of gas: out of gas'])(
    'replaces %j by our shorter message, and by no other',
    (message) => {
      expect(inOurWords(halted(message), halted('out of gas'))).toEqual(halted('out of gas'))
      expect(inOurWords(halted(message), halted('write protection'))).toEqual(halted(message))
      expect(inOurWords(halted(message), { result: [] })).toEqual(halted(message))
    },
  )

  it.each(['stack underflow (1 <=> 2)', 'out of gas: write protection', 'invalid input length'])(
    'keeps %j',
    (message) => {
      expect(inOurWords(halted(message), halted('out of gas'))).toEqual(halted(message))
    },
  )
})
