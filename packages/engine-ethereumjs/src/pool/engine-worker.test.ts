import { EngineWorker } from './engine-worker.js'
import type { Job } from './job.js'
import type { Ending, Work } from './messages.js'

/** Work that can't be done, with an error of its own for each kind. */
const SIMULATE = { kind: 'simulate' } as Work
const EXECUTE = { kind: 'execute' } as Work

function jobOf(work: Work) {
  const endings: Ending[] = []
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const job = {
    work,
    finish(ending: Ending) {
      endings.push(ending)
      end()
    },
  }
  return { job, endings, ended, asJob: job as unknown as Job }
}

describe('EngineWorker', () => {
  let worker: EngineWorker
  beforeEach(() => {
    worker = new EngineWorker({ heard: () => undefined, gone: () => undefined })
  })
  afterEach(() => worker.terminate())

  it('does not take what a job’s first run ended with for the end of its second', async () => {
    const alone = jobOf(SIMULATE)
    worker.start(alone.asJob)
    await alone.ended
    const again = jobOf(SIMULATE)
    worker.start(again.asJob)
    worker.cancel(again.asJob)
    worker.forget(again.asJob)
    again.job.work = EXECUTE
    worker.start(again.asJob)
    await again.ended
    const [failed] = alone.endings as unknown as [{ message: string }]
    expect(again.endings).toEqual([
      { job: expect.any(Number), kind: 'failed', message: expect.any(String), stack: expect.any(String) },
    ])
    expect((again.endings as unknown as [{ message: string }])[0].message).not.toBe(failed.message)
    expect(worker.load).toBe(0)
  })

  it('waits for its end once, however often it is told to end', () => {
    const [first, second] = [worker.terminate(), worker.terminate()]
    expect(second).toBe(first)
  })
})
