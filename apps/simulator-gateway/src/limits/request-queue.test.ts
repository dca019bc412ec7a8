import { ClientGone, Overloaded } from './refused.js'
import { type Client, RequestQueue } from './request-queue.js'

const never = new AbortController()
const alice: Client = { name: 'alice', pays: false }
const bob: Client = { name: 'bob', pays: false }
const carol: Client = { name: 'carol', pays: false }
const payer: Client = { name: 'payer', pays: true }

/** Enters the queue and records the name of each request admitted or refused. */
function entering(queue: RequestQueue, order: string[]) {
  return (client: Client, label = client.name) => {
    const turn = queue.enter(client, never)
    if (turn === undefined) order.push(label)
    else turn.then(() => order.push(label)).catch((error: Error) => order.push(`${label}: ${error.name}`))
  }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('RequestQueue', () => {
  it('admits requests up to its capacity, queues the next in order and refuses the rest', async () => {
    const queue = new RequestQueue(1, 2)
    const order: string[] = []
    const enter = entering(queue, order)
    for (const label of ['first', 'second', 'third']) enter(alice, label)
    expect(() => queue.enter(alice, never)).toThrow(Overloaded)
    expect([queue.inFlight, queue.queued]).toEqual([1, 2])
    for (let turn = 0; turn < 3; turn += 1) {
      queue.leave(alice)
      await settled()
    }
    expect(order).toEqual(['first', 'second', 'third'])
    expect([queue.inFlight, queue.queued]).toEqual([0, 0])
  })

  it('admits requests that fit, smaller ones before one that needs more units than are free', async () => {
    const queue = new RequestQueue(100, 100)
    const order: string[] = []
    const enter = (client: Client, units: number) => {
      const turn = queue.enter(client, never, units)
      if (turn === undefined) order.push(client.name)
      else void turn.then(() => order.push(client.name))
    }
    enter(alice, 40)
    enter(alice, 40)
    enter(bob, 60)
    enter(carol, 100)
    expect([order, queue.queued]).toEqual([['alice', 'bob'], 2])
    enter(payer, 1)
    queue.leave(bob, 60)
    await settled()
    expect(order).toEqual(['alice', 'bob', 'payer'])
    queue.leave(alice, 40)
    await settled()
    expect(order).toEqual(['alice', 'bob', 'payer', 'alice'])
    queue.leave(alice, 40)
    queue.leave(payer, 1)
    await settled()
    expect(order.at(-1)).toBe('carol')
  })

  it('limits a client to as many slots as it leaves free for others', () => {
    const queue = new RequestQueue(8, 100)
    const order: string[] = []
    const enter = entering(queue, order)
    for (let request = 0; request < 20; request += 1) enter(alice)
    expect(queue.inFlight).toBe(4)
    for (let request = 0; request < 20; request += 1) enter(bob)
    enter(carol)
    expect(order.filter((name) => name === 'bob')).toHaveLength(2)
    expect(order.at(-1)).toBe('carol')
  })

  it('admits clients without a request in flight beyond its capacity, one request each', async () => {
    const queue = new RequestQueue(2, 100, 2)
    const order: string[] = []
    const enter = entering(queue, order)
    for (const client of [alice, alice, bob, bob, carol, payer]) enter(client)
    enter({ name: 'dave', pays: false })
    await settled()
    expect(order).toEqual(['alice', 'bob', 'carol', 'payer'])
    queue.leave(carol)
    await settled()
    expect(order.at(-1)).toBe('dave')
    queue.leave(payer)
    queue.leave({ name: 'dave', pays: false })
    await settled()
    expect([order.length, queue.inFlight, queue.queued]).toEqual([5, 2, 2])
  })

  it('keeps first requests in extra slots from using up the shared capacity', async () => {
    const queue = new RequestQueue(4, 100, 100)
    const order: string[] = []
    const enter = entering(queue, order)
    for (const client of [alice, alice, alice]) enter(client)
    expect(queue.inFlight).toBe(2)
    for (let client = 0; client < 10; client += 1) enter({ name: `other ${client}`, pays: false })
    expect(queue.inFlight).toBe(12)
    enter(bob)
    enter(bob)
    expect(order.filter((name) => name === 'bob')).toHaveLength(2)
    queue.leave(bob)
    queue.leave(bob)
    queue.leave(alice)
    await settled()
    expect(order.filter((name) => name === 'alice')).toHaveLength(3)
  })

  it('gives the next turn to the client with the fewest requests in flight, in rotation', async () => {
    const queue = new RequestQueue(1, 100)
    const order: string[] = []
    const enter = entering(queue, order)
    for (const client of [alice, alice, alice, alice, bob, bob, carol]) enter(client)
    for (let turn = 0; turn < 7; turn += 1) {
      queue.leave({ name: order.at(-1)!, pays: false })
      await settled()
    }
    expect(order).toEqual(['alice', 'alice', 'bob', 'carol', 'alice', 'bob', 'alice'])
  })

  it('admits paying clients first', async () => {
    const queue = new RequestQueue(1, 100)
    const order: string[] = []
    const enter = entering(queue, order)
    for (const client of [alice, bob, payer, payer]) enter(client)
    for (let turn = 0; turn < 4; turn += 1) {
      queue.leave({ name: order.at(-1)!, pays: false })
      await settled()
    }
    expect(order).toEqual(['alice', 'payer', 'payer', 'bob'])
  })

  it('while held, runs one request per client and admits further ones only one by one', async () => {
    const queue = new RequestQueue(8, 2)
    const order: string[] = []
    const enter = entering(queue, order)
    queue.hold()
    for (const client of [alice, alice, alice, bob, bob]) enter(client)
    expect([order, queue.queued]).toEqual([['alice', 'bob'], 3])
    queue.leave(bob)
    enter(bob)
    await settled()
    expect(order).toEqual(['alice', 'bob'])
    queue.admitOne()
    await settled()
    expect(order).toEqual(['alice', 'bob', 'bob'])
    queue.release()
    await settled()
    expect([order.length, queue.inFlight, queue.queued]).toEqual([6, 5, 0])
  })

  it('while held, queues up to its free capacity plus maxQueued, then throws Overloaded', () => {
    const queue = new RequestQueue(4, 0)
    queue.hold()
    for (let request = 0; request < 4; request += 1) void queue.enter(alice, never)
    expect([queue.inFlight, queue.queued]).toEqual([1, 3])
    expect(() => queue.enter(alice, never)).toThrow(Overloaded)
  })

  it('on release, refuses the newest requests of the client that has queued the most', async () => {
    const queue = new RequestQueue(4, 2)
    queue.hold()
    const asked = Array.from({ length: 6 }, () =>
      Promise.resolve(queue.enter(alice, never)).then(
        () => 'in',
        () => 'refused',
      ),
    )
    expect([queue.inFlight, queue.queued]).toEqual([1, 5])
    queue.release()
    expect([queue.inFlight, queue.queued]).toEqual([2, 2])
    expect(await Promise.race([asked[5], settled().then(() => 'waits')])).toBe('refused')
    expect(await Promise.race([asked[3], settled().then(() => 'waits')])).toBe('waits')
  })

  it('refuses the newest request of the client that has queued the most if the queue is full', async () => {
    const queue = new RequestQueue(1, 3)
    const order: string[] = []
    const enter = entering(queue, order)
    for (const client of [alice, alice, alice, alice, bob]) enter(client)
    await settled()
    expect(order).toEqual(['alice', 'alice: RpcError'])
    expect(() => queue.enter(alice, never)).toThrow(Overloaded)
    enter(payer)
    await settled()
    expect(order).toEqual(['alice', 'alice: RpcError', 'alice: RpcError'])
    expect([queue.inFlight, queue.queued]).toEqual([1, 3])
  })

  it('drops a queued request if its client disconnects, and gives the turn to the next', async () => {
    const queue = new RequestQueue(1, 2)
    queue.enter(alice, never)
    const gone = new AbortController()
    const dropped = queue.enter(alice, gone)
    const next = queue.enter(alice, never)
    gone.abort(new ClientGone())
    await expect(dropped).rejects.toThrow(ClientGone)
    queue.leave(alice)
    await next
    expect([queue.inFlight, queue.queued]).toEqual([1, 0])
  })

  it('rejects with Overloaded if the request times out in the queue', async () => {
    const queue = new RequestQueue(1, 2)
    queue.enter(alice, never)
    const late = new AbortController()
    const waiting = queue.enter(alice, late)
    late.abort(new Error('time is over'))
    await expect(waiting).rejects.toThrow(Overloaded)
    expect(queue.queued).toBe(0)
  })
})
