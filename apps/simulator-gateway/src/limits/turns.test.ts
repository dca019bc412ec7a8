import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { Awaitable } from '@upfront/node'
import { Memory } from './memory.js'
import { MemoryGuard } from './memory-guard.js'
import { Turns } from './turns.js'

/** Turns, with the clients that were admitted, in order. Requests stay in flight until `end`. */
function takingTurns() {
  const memory = new Memory(2 ** 30)
  const turns = new Turns({ maxInFlight: 64, maxQueued: 1_024 }, { memory, guard: new MemoryGuard(memory) })
  const begun: string[] = []
  const ends: (() => void)[] = []
  const taken: Awaitable<unknown>[] = []
  const take = (name: string) => {
    const asked = { client: { name, pays: false }, response: new PassThrough(), timeoutMs: 60_000, length: 100 }
    const work = () => {
      begun.push(name)
      return new Promise<void>((resolve) => ends.push(resolve))
    }
    taken.push(turns.take(asked, work))
  }
  const end = async () => {
    while (turns.inFlight > 0) {
      for (const done of ends.splice(0)) done()
      await setImmediate()
    }
    await Promise.all(taken)
  }
  return { turns, begun, take, end }
}

describe('Turns', () => {
  it("while connections arrive, admits a new client immediately and delays a busy client's further requests", async () => {
    const { turns, begun, take, end } = takingTurns()
    for (let turn = 0; turn < 80; turn += 1) {
      turns.connectionAccepted()
      take('many')
      await setImmediate()
    }
    take('one')
    const ofMany = begun.filter((name) => name === 'many').length
    expect([begun.at(-1), ofMany]).toEqual(['one', 1 + 80 / 8])
    await setImmediate()
    await setImmediate()
    // The client gets half of the slots that the other one leaves free.
    expect(begun.filter((name) => name === 'many').length).toBeGreaterThan(30)
    await end()
  })

  it('limits concurrent long recordings to those that fit in memory', async () => {
    const memory = new Memory(2 ** 30)
    const turns = new Turns({ maxInFlight: 64, maxQueued: 1_024 }, { memory, guard: new MemoryGuard(memory) })
    const leaves: (() => void)[] = []
    const MIB = 2 ** 20
    const record = async (name: string, answerBytes: number) => {
      const asked = { client: { name, pays: false }, response: new PassThrough(), timeoutMs: 60_000, length: 100 }
      await turns.take(asked, async (_, record) => leaves.push(await record(answerBytes)))
    }
    // A record longer than all memory takes all of it.
    const recorded = [record('whole', 1_024 * MIB), record('one', 4 * MIB), record('other', 4 * MIB)]
    await setImmediate()
    expect([leaves.length, turns.queued]).toEqual([1, 2])
    leaves[0]!()
    await Promise.all(recorded)
    expect([leaves.length, turns.queued]).toEqual([3, 0])
  })

  it('serves the request of a single connection immediately', async () => {
    const { turns, begun, take, end } = takingTurns()
    turns.connectionAccepted()
    take('one')
    expect(begun).toEqual(['one'])
    await end()
  })

  it('idle() resolves once the last request is answered', async () => {
    const { turns, take, end } = takingTurns()
    await turns.idle()
    take('one')
    take('other')
    let isIdle = false
    const idle = turns.idle().then(() => {
      isIdle = true
    })
    await setImmediate()
    expect(isIdle).toBe(false)
    await end()
    await idle
  })
})
