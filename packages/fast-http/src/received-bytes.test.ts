import { ReceivedBytes } from './received-bytes.js'

const whole = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251))

describe('ReceivedBytes', () => {
  it('joins pieces of any size', () => {
    for (const size of [1, 7, 1_000, 70_000, 100_000]) {
      const received = new ReceivedBytes()
      for (let at = 0; at < whole.length; at += size) received.add(whole.subarray(at, at + size))
      expect(received.length).toBe(whole.length)
      expect(received.join().equals(whole)).toBe(true)
    }
  })

  it('allocates at most twice the bytes received and never more than the announced length', () => {
    const received = new ReceivedBytes()
    const bounded = new ReceivedBytes()
    bounded.most = 70_000
    let maxTimes = 0
    for (let at = 0; at < 70_000; at += 1) {
      received.add(whole.subarray(at, at + 1))
      bounded.add(whole.subarray(at, at + 1))
      if (at >= 1_024) maxTimes = Math.max(maxTimes, received.held / received.length)
    }
    expect(maxTimes).toBeLessThanOrEqual(2)
    expect(bounded.held).toBe(70_000)
  })

  it('allocates the announced length once a quarter of it has arrived', () => {
    const received = new ReceivedBytes()
    received.most = 16 * 1_048_576
    const held = new Set<number>()
    const piece = Buffer.alloc(65_536)
    for (let at = 0; at < received.most; at += piece.length) {
      received.add(piece)
      held.add(received.held)
    }
    expect([...held].slice(-2)).toEqual([4 * 1_048_576, 16 * 1_048_576])
    expect(received.join()).toHaveLength(received.most)
  })

  it('returns a single piece without copying it', () => {
    const received = new ReceivedBytes()
    received.add(whole)
    expect(received.join()).toBe(whole)
  })

  it('stays correct after bytes are dropped', () => {
    const received = new ReceivedBytes()
    received.add(whole.subarray(0, 10))
    received.add(whole.subarray(10, 20))
    received.drop(5)
    expect(received.join().equals(whole.subarray(5, 20))).toBe(true)
    received.add(whole.subarray(20, 3_000))
    received.drop(100)
    expect(received.join().equals(whole.subarray(105, 3_000))).toBe(true)
    received.drop(received.length)
    expect(received.held).toBe(0)
    received.add(whole.subarray(0, 3))
    expect(received.join().equals(whole.subarray(0, 3))).toBe(true)
  })
})
