import { AnswerTooLong, type DecodedFrame, type Frame } from '@upfront/simulation'
import { flat, traceAddresses } from './words.js'

const framesOfDepth = (depths: readonly number[]) => depths.map((depth) => ({ depth }) as Frame)

describe('traceAddresses', () => {
  it('are the path of indices from the top call', () => {
    const made = traceAddresses(framesOfDepth([0, 1, 2, 1]))
    expect(made.map(({ traceAddress }) => traceAddress)).toEqual([[], [0], [0, 0], [1]])
    expect(made.map(({ subtraces }) => subtraces)).toEqual([2, 1, 0, 0])
  })

  it('are limited in their total length, which grows with the square of the depth', () => {
    const deep = Array.from({ length: 20 }, () => Array.from({ length: 1_000 }, (_, index) => index + 1)).flat()
    expect(() => traceAddresses(framesOfDepth([0, ...deep]))).toThrow(AnswerTooLong)
  })
})

describe('flat', () => {
  const frame = (from: string, calls?: DecodedFrame[]) => ({ from, ...(calls && { calls }) }) as DecodedFrame

  it('lists each frame before those that it calls', () => {
    const top = frame('0x1', [frame('0x2', [frame('0x3')]), frame('0x4')])
    expect(flat(top).map(({ from }) => from)).toEqual(['0x1', '0x2', '0x3', '0x4'])
  })
})
