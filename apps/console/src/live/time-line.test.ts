import { TimeLine } from './time-line.js'

const head = (number: bigint, hash: string, parentHash: string) => ({ number, hash, parentHash })
const flashblock = (number: bigint, index: number, payloadId = 'p') => ({
  ...{ number, hash: '', parentHash: '', flashblock: index, payloadId },
})

describe('TimeLine', () => {
  it('reports nothing for heads and flashblocks in order', () => {
    const line = new TimeLine()
    for (const one of [
      head(1n, 'a', ''),
      flashblock(2n, 0),
      flashblock(2n, 1),
      head(2n, 'b', 'a'),
      flashblock(3n, 0, 'q'),
    ])
      expect(line.note(one)).toBeUndefined()
  })

  it.each([
    [head(5n, 'e', 'd'), { kind: 'gap', text: '2 blocks before 5 were not announced' }],
    [head(2n, 'b2', 'a'), { kind: 'reorganisation', text: 'the chain changed from block 2 on' }],
    [head(3n, 'c2', 'b2'), { kind: 'reorganisation', text: 'block 3 does not follow the block before it' }],
  ])('reports the disturbance of %j after block 2', (one, disturbance) => {
    const line = new TimeLine()
    line.note(head(2n, 'b', 'a'))
    expect(line.note(one)).toEqual(disturbance)
  })

  it.each([
    [flashblock(7n, 5), { kind: 'gap', text: '2 flashblocks before flashblock 5 of block 7 were executed with it' }],
    [flashblock(7n, 1, 'q'), { kind: 'restart', text: 'block 7 was started again' }],
    [flashblock(7n, 1), { kind: 'restart', text: 'flashblock 1 of block 7 was executed again' }],
    [flashblock(9n, 0, 'q'), { kind: 'gap', text: '1 blocks before flashblock 0 of block 9 showed no flashblock' }],
    [flashblock(6n, 1, 'q'), { kind: 'reorganisation', text: 'flashblock 1 of block 6 is on another head' }],
  ])('reports the disturbance of %j after flashblock 2 of block 7', (one, disturbance) => {
    const line = new TimeLine()
    line.note(flashblock(7n, 2))
    expect(line.note(one)).toEqual(disturbance)
  })

  it('compares nothing across a lost connection', () => {
    const line = new TimeLine()
    line.note(head(2n, 'b', 'a'))
    line.interrupt()
    expect(line.note(head(9n, 'i', 'h'))).toBeUndefined()
  })
})
