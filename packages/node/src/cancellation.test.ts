import { getEventListeners } from 'node:events'
import { Canceller, type CancelSignal, onAbort, pause } from './cancellation.js'
import { raceAbort, withinLimits } from './within-limits.js'

interface Made {
  signal: CancelSignal
  cancel(reason: unknown): void
}

const makers: [string, () => Made][] = [
  [
    'Canceller',
    () => {
      const canceller = new Canceller()
      return { signal: canceller.signal, cancel: (reason) => canceller.cancel(reason) }
    },
  ],
  [
    'AbortController, which it stands for',
    () => {
      const controller = new AbortController()
      return { signal: controller.signal, cancel: (reason) => controller.abort(reason) }
    },
  ],
]

describe.each(makers)('%s', (_name, make) => {
  it('calls every listener once, in order, with the reason', () => {
    const { signal, cancel } = make()
    const heard: string[] = []
    signal.addEventListener('abort', () => heard.push(`first ${signal.reason}`), { once: true })
    signal.addEventListener('abort', () => heard.push(`second ${signal.aborted}`), { once: true })
    cancel('enough')
    cancel('again')
    expect(heard).toEqual(['first enough', 'second true'])
    expect(signal.reason).toBe('enough')
    const error = new Error('enough')
    const other = make()
    other.cancel(error)
    expect(() => other.signal.throwIfAborted()).toThrow(error)
  })

  it('is not aborted at first, and calls no listener that is added after the abort', () => {
    const { signal, cancel } = make()
    expect([signal.aborted, signal.reason]).toEqual([false, undefined])
    signal.throwIfAborted()
    cancel('enough')
    let late = 0
    signal.addEventListener('abort', () => late++)
    cancel('again')
    expect([signal.aborted, late]).toEqual([true, 0])
  })

  it('does not call removed listeners', () => {
    const { signal, cancel } = make()
    const heard: number[] = []
    const listeners = [0, 1, 2, 3].map((number) => () => void heard.push(number))
    for (const listener of listeners) signal.addEventListener('abort', listener, { once: true })
    signal.removeEventListener('abort', listeners[3]!)
    signal.removeEventListener('abort', listeners[0]!)
    signal.removeEventListener('abort', () => undefined)
    cancel('enough')
    expect(heard).toEqual([1, 2])
  })

  it('lets a listener remove the next one', () => {
    const { signal, cancel } = make()
    const heard: number[] = []
    const second = () => void heard.push(2)
    signal.addEventListener('abort', () => signal.removeEventListener('abort', second))
    signal.addEventListener('abort', second)
    signal.addEventListener('abort', () => void heard.push(3))
    cancel('enough')
    expect(heard).toEqual([3])
  })
})

describe('raceAbort', () => {
  it('settles like the work', async () => {
    const { signal } = new Canceller()
    expect(await raceAbort(Promise.resolve(7), signal)).toBe(7)
    await expect(raceAbort(Promise.reject(new Error('failed')), signal)).rejects.toThrow('failed')
  })

  it('rejects with the reason if the signal is aborted before or during the work', async () => {
    const canceller = new Canceller()
    const meanwhile = raceAbort(new Promise(() => undefined), canceller.signal)
    canceller.cancel(new Error('enough'))
    await expect(meanwhile).rejects.toThrow('enough')
    await expect(raceAbort(Promise.reject(new Error('failed')), canceller.signal)).rejects.toThrow('enough')
  })
})

describe('pause', () => {
  it('resolves after its time, or rejects if the signal is aborted', async () => {
    await pause(1, undefined)
    const canceller = new Canceller()
    await pause(1, canceller.signal)
    const paused = pause(60_000, canceller.signal)
    canceller.cancel(new Error('enough'))
    await expect(paused).rejects.toThrow('enough')
    await expect(pause(60_000, canceller.signal)).rejects.toThrow('enough')
  })
})

describe('onAbort', () => {
  it('calls once, immediately if the signal is already aborted, and not after it is removed', () => {
    const heard: string[] = []
    const canceller = new Canceller()
    onAbort(canceller.signal, () => heard.push('first'))
    onAbort(canceller.signal, () => heard.push('taken off'))()
    canceller.cancel('enough')
    onAbort(canceller.signal, () => heard.push('late'))
    onAbort(undefined, () => heard.push('never'))()
    expect(heard).toEqual(['first', 'late'])
  })

  it('leaves no listener on a signal after 1,000 waits, and causes no listener warning', async () => {
    const { signal } = new AbortController()
    const warnings: unknown[] = []
    const warn = (warning: Error) => warnings.push(warning)
    process.on('warning', warn)
    const late = () => new Error('late')
    const failing = () => Promise.reject(new Error('failed'))
    const works = Array.from({ length: 1_000 }, (_, n) =>
      Promise.allSettled([
        raceAbort(Promise.resolve(n), signal),
        raceAbort(failing(), signal),
        withinLimits(Promise.resolve(n), { signal }, late),
        withinLimits(failing(), { signal }, late),
        withinLimits(new Promise(() => undefined), { signal, deadline: performance.now() }, late),
        pause(0, signal),
      ]),
    )
    expect(getEventListeners(signal, 'abort').length).toBeGreaterThan(1_000)
    await Promise.all(works)
    expect(getEventListeners(signal, 'abort')).toEqual([])
    process.off('warning', warn)
    expect(warnings).toEqual([])
  })
})
