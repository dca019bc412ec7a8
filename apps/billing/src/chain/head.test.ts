import { Head } from './head.js'
import type { Node } from './node.js'

const { jest } = import.meta

/** A head whose node answers `number` as the newest block. */
function headAt(number: number) {
  const node = { number }
  const request = async () => ({ number: `0x${node.number.toString(16)}`, timestamp: '0x1' })
  return { node, head: new Head({ request } as unknown as Node) }
}

describe('the height of the head', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  it('is that of a receipt while the node that is asked for the head is behind', async () => {
    const { head } = headAt(100)
    head.atLeast(101n)
    await head.refresh()
    expect(head.number).toBe(101n)
  })

  it('is what is read again some seconds after the block of a receipt was dropped', async () => {
    const { head } = headAt(100)
    await head.refresh()
    head.atLeast(101n)
    jest.advanceTimersByTime(20_000)
    await head.refresh()
    expect(head.number).toBe(100n)
  })

  it('stays that of a receipt that is still read', async () => {
    const { head } = headAt(100)
    head.atLeast(101n)
    for (let seconds = 0; seconds < 60; seconds += 10) {
      jest.advanceTimersByTime(10_000)
      head.atLeast(101n)
      await head.refresh()
    }
    expect(head.number).toBe(101n)
  })

  it('falls at once with the head that is read', async () => {
    const { node, head } = headAt(100)
    await head.refresh()
    head.atLeast(101n)
    node.number = 99
    await head.refresh()
    expect(head.number).toBe(99n)
  })
})
