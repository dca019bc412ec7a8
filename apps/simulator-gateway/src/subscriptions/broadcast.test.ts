import { Broadcast } from './broadcast.js'

const ignore = () => undefined
/** Events are delivered in later turns of the event loop. */
const told = () => new Promise((resolve) => setImmediate(resolve))

function listenTo(broadcast: Broadcast<number>, seen: number[], last?: number) {
  return broadcast.listen(
    (...events) => seen.push(...events),
    (events) => seen.push(...events),
    ignore,
    last === undefined ? undefined : (event) => event === last,
  )
}

describe('Broadcast', () => {
  let publish: (event: number) => void
  let stopped: number
  let begun: number
  const source = {
    most: 5,
    lingerMs: 1_000,
    begin: async (send: (event: number) => void) => {
      publish = send
      begun += 1
      return () => {
        stopped += 1
      }
    },
  }
  beforeEach(() => {
    stopped = 0
    begun = 0
  })

  it('sends a resuming listener exactly the events that it missed', async () => {
    const broadcast = new Broadcast(source)
    const stayed: number[] = []
    const resumed: number[] = []
    await listenTo(broadcast, stayed)
    for (const event of [1, 2, 3, 4]) publish(event)
    expect(await listenTo(broadcast, resumed, 2)).toBeDefined()
    publish(5)
    while (stayed.length + resumed.length < 8) await told()
    expect(stayed).toEqual([1, 2, 3, 4, 5])
    expect(resumed).toEqual([3, 4, 5])
    expect(begun).toBe(1)
  })

  it('does not resume from an event that it dropped or never sent', async () => {
    const broadcast = new Broadcast(source)
    await broadcast.listen(ignore, ignore, ignore)
    for (const event of [1, 2, 3, 4, 5, 6]) publish(event)
    for (const lost of [1, 9]) expect(await listenTo(broadcast, [], lost)).toBeUndefined()
    expect(await listenTo(broadcast, [], 2)).toBeDefined()
  })

  it('delivers events even if none is kept for resuming (maxKept: 0)', async () => {
    const broadcast = new Broadcast({ ...source, maxKept: 0 })
    const seen: number[] = []
    await listenTo(broadcast, seen)
    for (const event of [1, 2, 3]) publish(event)
    while (seen.length < 3) await told()
    expect(seen).toEqual([1, 2, 3])
    expect(await listenTo(broadcast, [], 3)).toBeUndefined()
  })

  it('sends the current events to a new listener first', async () => {
    const broadcast = new Broadcast({ ...source, current: () => [7, 8] })
    const seen: number[] = []
    await listenTo(broadcast, seen)
    publish(9)
    while (seen.length < 3) await told()
    expect(seen).toEqual([7, 8, 9])
  })

  it('delivers to many listeners over several event loop turns, each event once and in order', async () => {
    const broadcast = new Broadcast(source)
    const seen = Array.from({ length: 300 }, (): number[] => [])
    const turns = new Set<number>()
    let turn = 0
    let isOver = false
    const count = () => {
      turn += 1
      if (!isOver) setImmediate(count)
    }
    count()
    for (const own of seen)
      await broadcast.listen(
        (...events) => {
          own.push(...events)
          turns.add(turn)
          // Longer than one turn of a broadcast may take.
          if (own === seen[0]) for (const until = performance.now() + 6; performance.now() < until; );
        },
        ignore,
        ignore,
      )
    for (const event of [1, 2, 3]) publish(event)
    const late: number[] = []
    await listenTo(broadcast, late, 2)
    publish(4)
    while (seen.some((own) => own.length < 4) || late.length < 2) await told()
    isOver = true
    for (const own of seen) expect(own).toEqual([1, 2, 3, 4])
    expect(late).toEqual([3, 4])
    expect(turns.size).toBeGreaterThan(1)
  })

  it('ends a listener if more events are queued for it than are kept', async () => {
    const broadcast = new Broadcast(source)
    const reasons: string[] = []
    const seen: number[] = []
    await broadcast.listen(
      (...events) => seen.push(...events),
      ignore,
      (reason) => reasons.push(reason),
    )
    for (let event = 1; event <= 9; event += 1) publish(event)
    await told()
    expect(seen).toEqual([1])
    expect(reasons).toEqual([expect.stringContaining('subscribe again')])
  })

  it('keeps running for lingerMs after the last listener left, then stops and drops its events', async () => {
    const broadcast = new Broadcast({ ...source, lingerMs: 20 })
    const leave = await broadcast.listen(ignore, ignore, ignore)
    publish(1)
    leave!()
    publish(2)
    const seen: number[] = []
    const leaveAgain = await listenTo(broadcast, seen, 1)
    expect([seen, stopped]).toEqual([[2], 0])
    leaveAgain!()
    while (stopped === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await listenTo(broadcast, [], 2)).toBeUndefined()
    expect(begun).toBe(2)
  })

  it('ends all listeners if events are missing and starts again with the next listener', async () => {
    let end: (reason: string) => void = ignore
    const broadcast = new Broadcast<number>({
      ...source,
      begin: (send, missing) => {
        end = missing
        return source.begin(send)
      },
    })
    const reasons: string[] = []
    for (let n = 0; n < 2; n += 1)
      await broadcast.listen(
        () => undefined,
        ignore,
        (reason) => reasons.push(reason),
      )
    publish(1)
    end('a gap')
    expect(reasons).toEqual(['a gap', 'a gap'])
    expect(await listenTo(broadcast, [], 1)).toBeUndefined()
    expect(begun).toBe(2)
  })

  it('starts again after a failed start', async () => {
    let fails = true
    const broadcast = new Broadcast<number>({
      ...source,
      begin: (send) => (fails ? Promise.reject(new Error('refused')) : source.begin(send)),
    })
    await expect(broadcast.listen(ignore, ignore, ignore)).rejects.toThrow('refused')
    fails = false
    expect(await broadcast.listen(ignore, ignore, ignore)).toBeDefined()
  })
})
