import { CallQueue } from './call-queue.js'
import type { CallOutcome, UpstreamCall } from './upstream-call.js'
import type { UpstreamClient } from './upstream-client.js'
import { UpstreamError, UpstreamFault } from './upstream-fault.js'

/** Records which methods were sent together, and answers each call with its first parameter, in reverse order. */
function queue() {
  const sent: string[][] = []
  const batch = async (
    calls: readonly UpstreamCall<unknown>[],
    _: unknown,
    onOutcome: (index: number, outcome: CallOutcome<unknown>) => void,
  ) => {
    sent.push(calls.map(({ method }) => method))
    await new Promise(setImmediate)
    for (let index = calls.length - 1; index >= 0; index -= 1) onOutcome(index, { value: calls[index]?.params[0] })
  }
  return { sent, queue: new CallQueue({ batch } as unknown as UpstreamClient) }
}

const call = (method: string, more: Partial<UpstreamCall<unknown>> = {}): UpstreamCall<unknown> => ({
  method,
  params: [method],
  decode: (result) => result,
  maxBytes: 100,
  ...more,
})
const head = call('head', { pace: 'prompt' })
const reads = (count: number) => Array.from({ length: count }, (_, n) => call(`read ${n}`))

describe('CallQueue', () => {
  it('sends the calls of one turn in one batch, and returns each caller its own outcomes', async () => {
    const { queue: calls, sent } = queue()
    const outcomes = await Promise.all([calls.sendAll(reads(3)), calls.send(head), calls.sendAll(reads(2))])
    expect(sent).toEqual([['read 0', 'read 1', 'read 2', 'head', 'read 0', 'read 1']])
    expect(outcomes).toEqual([
      [{ value: 'read 0' }, { value: 'read 1' }, { value: 'read 2' }],
      { value: 'head' },
      [{ value: 'read 0' }, { value: 'read 1' }],
    ])
  })

  it('sends a prompt call separately if the others are many or slow', async () => {
    const many = queue()
    await Promise.all([many.queue.sendAll(reads(64)), many.queue.send(head)])
    expect(many.sent.map(({ length }) => length)).toEqual([1, 64])
    const slow = queue()
    await Promise.all([
      slow.queue.send(call('hint', { pace: 'slow' })),
      slow.queue.send(head),
      slow.queue.send(call('read')),
    ])
    expect(slow.sent).toEqual([['head'], ['hint', 'read']])
  })

  it('does not send calls that are no longer wanted', async () => {
    const { queue: calls, sent } = queue()
    const left = calls.sendAll([call('read', { isWanted: () => false })])
    const wanted = calls.send(head)
    await expect(left).rejects.toThrow('nobody waits')
    await wanted
    expect(sent).toEqual([['head']])
  })

  it('sends a request’s calls with its limits, and settles each with its value or error', async () => {
    const limits = { deadline: 7 }
    const given: unknown[] = []
    const failed = new UpstreamError(new UpstreamFault('timeout', 'late'), 'node', 'read 1', 1)
    const batch = async (
      calls: readonly unknown[],
      asked: unknown,
      onOutcome: (at: number, outcome: object) => void,
    ) => {
      given.push([calls.length, asked])
      onOutcome(1, { error: failed })
      onOutcome(0, { value: 'first' })
      return []
    }
    const calls = new CallQueue({ batch } as unknown as Pick<UpstreamClient, 'batch'>, limits)
    const [first, second] = reads(2).map((each) => calls.call(each))
    await expect(second).rejects.toBe(failed)
    expect(await first).toBe('first')
    expect(given).toEqual([[2, limits]])
  })

  it('sends at most 1,000 calls in a batch', async () => {
    const { queue: calls, sent } = queue()
    expect(await calls.sendAll(reads(2_500))).toHaveLength(2_500)
    expect(sent.map(({ length }) => length)).toEqual([1_000, 1_000, 500])
  })
})
