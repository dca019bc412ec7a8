import { getEventListeners } from 'node:events'
import type { Awaitable, Cancellation } from '@upfront/node'
import type { PinnedBlock } from '@upfront/simulation'
import { runSpeculatively } from './run-speculatively.js'

const block = (n: number) => ({ key: `0x${n}`, header: { number: BigInt(n) } }) as unknown as PinnedBlock

function asking<T>(work: (block: PinnedBlock, cancellation: Cancellation) => Awaitable<T>) {
  let answer = (_: PinnedBlock) => {}
  let fail = (_: Error) => {}
  const asked = new Promise<PinnedBlock>((resolve, reject) => {
    answer = resolve
    fail = reject
  })
  const request = new AbortController()
  const known: bigint[] = []
  const outcome = runSpeculatively(block(7), asked, request, work, ({ header }) => known.push(header.number))
  return { answer, fail, request, known, outcome }
}

const aborted = ({ signal }: Cancellation) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

describe('runSpeculatively', () => {
  it('starts the work before the node answers, and runs it once if the guess is right', async () => {
    const begun: bigint[] = []
    const { answer, known, outcome } = asking(({ header }) => begun.push(header.number))
    expect([begun, known]).toEqual([[7n], []])
    answer(block(7))
    expect(await outcome).toBe(1)
    expect([begun, known]).toEqual([[7n], [7n]])
  })

  it('repeats the work if the guess is wrong, even if it failed', async () => {
    const begun: bigint[] = []
    const { answer, known, outcome } = asking(({ header }) => {
      begun.push(header.number)
      if (header.number === 7n) throw new Error('of no interest')
      return header.number
    })
    answer(block(8))
    expect(await outcome).toBe(8n)
    expect([begun, known]).toEqual([[7n, 8n], [8n]])
  })

  it('rejects with the error of the work if the guess is right', async () => {
    const atOnce = asking(() => {
      throw new Error('at once')
    })
    atOnce.answer(block(7))
    await expect(atOnce.outcome).rejects.toThrow('at once')
    const later = asking(async () => Promise.reject(new Error('later')))
    later.answer(block(7))
    await expect(later.outcome).rejects.toThrow('later')
  })

  it('cancels the work if the guess is wrong or the node gives no answer', async () => {
    const reasons: unknown[] = []
    const work = (on: PinnedBlock, cancellation: Cancellation) =>
      on.header.number === 7n ? aborted(cancellation).catch((reason) => reasons.push(reason.message)) : 0
    const wrong = asking(work)
    wrong.answer(block(8))
    expect(await wrong.outcome).toBe(0)
    const failed = asking(work)
    failed.fail(new Error('the node is down'))
    await expect(failed.outcome).rejects.toThrow('the node is down')
    expect([reasons, failed.known]).toEqual([['the head moved on', 'the head moved on'], []])
  })

  it('shows an aborted signal to work that reads it only after the cancellation', async () => {
    let look = () => {}
    const looking = new Promise<void>((resolve) => (look = resolve))
    const looked = new Promise<boolean>((resolve) => {
      const { answer } = asking(async ({ header }, cancellation) => {
        if (header.number === 8n) return look()
        await looking
        resolve(cancellation.signal.aborted)
      })
      answer(block(8))
    })
    expect(await looked).toBe(true)
  })

  it('leaves no listener on the request’s signal', async () => {
    const work = async (_: PinnedBlock, { signal }: Cancellation) => signal.throwIfAborted()
    for (const named of [7, 8]) {
      const { answer, request, outcome } = asking(work)
      answer(block(named))
      await outcome
      expect(getEventListeners(request.signal, 'abort')).toEqual([])
    }
  })

  it('cancels the work if the request is aborted', async () => {
    const { answer, request, outcome } = asking((_, cancellation) => aborted(cancellation))
    request.abort(new Error('the client has gone'))
    answer(block(7))
    await expect(outcome).rejects.toThrow('the client has gone')
  })
})
