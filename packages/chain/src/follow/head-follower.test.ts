import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BlockHeader, Hash } from '@upfront/protocol'
import { headerFromRpc } from '@upfront/simulation'
import { WebSocketServer } from 'ws'
import { blockCall } from '../head/node-head.js'
import { HeadFollower } from './head-follower.js'
import type { HeadEvent, HeadFollowerOptions } from './head-follower-options.js'
import type { Relay, RelayListener } from './relay.js'

const hashOf = (number: number, fork = 0): Hash => `0x${(fork * 2 ** 40 + number).toString(16).padStart(64, '0')}`

/** Blocks with the header fields that a follower reads. Fork 1 branches off fork 0 at `forkedAt`. */
function rpcHeader(number: number, fork = 0, forkedAt = number - 1) {
  const zero = `0x${'0'.repeat(64)}`
  return {
    number: `0x${number.toString(16)}`,
    hash: hashOf(number, fork),
    parentHash: hashOf(number - 1, number - 1 > forkedAt ? fork : 0),
    timestamp: `0x${(1_000 + number).toString(16)}`,
    ...{ miner: `0x${'0'.repeat(40)}`, difficulty: '0x0', extraData: '0x', nonce: '0x0000000000000000', size: '0x0' },
    ...{ gasLimit: '0x1', gasUsed: '0x0', baseFeePerGas: '0x1', logsBloom: `0x${'0'.repeat(512)}` },
    ...{ mixHash: zero, stateRoot: zero, transactionsRoot: zero, receiptsRoot: zero, sha3Uncles: zero },
  }
}
type RpcHeader = ReturnType<typeof rpcHeader>

const blockOf = (header: RpcHeader) => ({ header: headerFromRpc(header) })
type Block = ReturnType<typeof blockOf>

/** A node controlled by the test: what it announces, serves and returns as its head. */
async function startNode(chainId = '0x1') {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  const served = new Map<Hash, Block>()
  let latest: Block | undefined
  let asked = 0
  const fetchedHashes: Hash[] = []
  const results: Record<string, string> = { eth_chainId: chainId, eth_subscribe: '0xabc' }
  server.on('connection', (socket) =>
    socket.on('message', (data) => {
      const { id, method } = JSON.parse(String(data))
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }))
    }),
  )
  const send = (text: string) => {
    for (const client of server.clients) client.send(text)
  }
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    serve: (header: RpcHeader) => {
      const block = blockOf(header)
      served.set(header.hash, block)
      latest = block
    },
    announce: (header: RpcHeader) =>
      send(
        JSON.stringify({
          jsonrpc: '2.0',
          method: 'eth_subscription',
          params: { subscription: '0xabc', result: header },
        }),
      ),
    send,
    asked: () => asked,
    fetched: () => fetchedHashes.length,
    fetchedHashes,
    latest: async () => {
      asked++
      if (latest === undefined) throw new Error('no head')
      return latest.header
    },
    byHash: async (hash: Hash) => {
      fetchedHashes.push(hash)
      return served.get(hash)
    },
    byNumber: (number: bigint) => (latest?.header.number === number ? latest : undefined),
    close: async () => {
      for (const client of server.clients) client.terminate()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
type Node = Awaited<ReturnType<typeof startNode>>

let node: Node
const followers: HeadFollower<Block>[] = []
beforeEach(async () => {
  node = await startNode()
})
afterEach(async () => {
  for (const follower of followers.splice(0)) follower.close()
  await node.close()
})

/** Asks for the head like `NodeHead`. */
const asking =
  (follower: () => HeadFollower<Block>, latest = () => node.latest()) =>
  async () => {
    const askedAt = performance.now()
    follower().noteNodeHead(await latest(), askedAt)
  }

interface Followed extends Partial<HeadFollowerOptions<Block>> {
  wakes?: boolean
  /** Number of URLs that confirm the subscription; all if absent. */
  subscribed?: number
  latest?: () => Promise<BlockHeader>
}

async function follow({ wakes, latest, subscribed, ...options }: Followed = {}) {
  const events: HeadEvent[] = []
  node.serve(rpcHeader(10))
  const follower: HeadFollower<Block> = new HeadFollower<Block>({
    mode: 'always',
    urls: [node.url],
    chainId: () => 1n,
    askHead: asking(() => follower, latest),
    byHash: node.byHash,
    observe: (event) => events.push(event),
    ...options,
  })
  followers.push(follower)
  if (wakes) follower.current()
  const { length } = options.urls ?? [node.url]
  await until(() => follower.status().head === 10n && follower.status().subscribed === (subscribed ?? length))
  if (length > 0) await until(() => follower.status().trusted)
  const numbers = () => events.flatMap((event) => (event.kind === 'head' ? [Number(event.header.number)] : []))
  return { follower, events, numbers }
}

/** Identity of the running test. A test beyond its time limit goes on beside the next one: it must neither wait nor announce there. */
let running = {}
beforeEach(() => {
  running = {}
})
afterEach(() => {
  running = {}
})

async function until(condition: () => boolean, own = running): Promise<void> {
  while (!condition()) {
    await sleep(2)
    if (own !== running) throw new Error('the test is over')
  }
}

const next = (number: number, fork?: number, forkedAt?: number) => {
  const header = rpcHeader(number, fork, forkedAt)
  node.serve(header)
  node.announce(header)
}

/** Simulated replicas: the follower's role, and the messages that it publishes. */
function replicas(role: 'leads' | 'follows') {
  const published: string[] = []
  let listener: RelayListener | undefined
  const member = {
    leads: role === 'leads',
    follows: role === 'follows',
    publish(message: Buffer | string) {
      if (member.leads) published.push(JSON.parse(String(message)).hash)
    },
    leave: () => undefined,
  }
  const relay: Relay = {
    join(to) {
      listener = to
      return member
    },
  }
  const tell = (header: RpcHeader) => listener?.onMessage(Buffer.from(JSON.stringify(header)))
  const lead = () => {
    Object.assign(member, { leads: true, follows: false })
    listener?.onChange()
  }
  return { relay, published, tell, lead }
}

describe('HeadFollower with a relay between replicas', () => {
  it('publishes the announced heads if it leads', async () => {
    const { relay, published } = replicas('leads')
    const { follower } = await follow({ relay })
    next(11)
    await until(() => follower.current()?.header.number === 11n)
    expect(published).toEqual([hashOf(10), hashOf(11)])
  })

  it('fetches the heads that the leader publishes, and subscribes itself once it leads', async () => {
    const { relay, published, tell, lead } = replicas('follows')
    const events: HeadEvent[] = []
    node.serve(rpcHeader(10))
    const { byHash } = node
    const observe = (event: HeadEvent) => events.push(event)
    const askHead = asking(() => follower)
    const follower: HeadFollower<Block> = new HeadFollower<Block>({
      mode: 'always',
      urls: [node.url],
      chainId: () => 1n,
      relay,
      askHead,
      byHash,
      observe,
    })
    followers.push(follower)
    await until(() => follower.status().trusted)
    const [asked, fetched] = [node.asked(), node.fetched()]
    const header = rpcHeader(11)
    node.serve(header)
    tell(header)
    await until(() => follower.current()?.header.number === 11n)
    expect([node.asked(), node.fetched()]).toEqual([asked, fetched + 1])
    expect([follower.status().subscribed, node.server.clients.size, published]).toEqual([0, 0, []])
    lead()
    await until(() => follower.status().subscribed === 1)
    next(12)
    await until(() => follower.current()?.header.number === 12n)
    expect(published).toContain(hashOf(12))
  })

  it('asks the node for the head if the leader is silent', async () => {
    const { relay } = replicas('follows')
    const { follower } = await follow({ urls: [], relay })
    node.serve(rpcHeader(11))
    await until(() => follower.status().head === 11n)
  })
})

describe('HeadFollower on a chain with regular blocks', () => {
  // Predictions of the next block may be half of this apart: on a busy machine they often are more than 50 ms.
  const EVERY_MS = 250
  type Due = Extract<HeadEvent, { kind: 'early' | 'inVain' }>

  /** Announces blocks at a regular pace until the event. @param isThere whether the node has a block before it announces it */
  async function paced(isThere: boolean, event: Due['kind']) {
    const asked: bigint[] = []
    const { follower, events } = await follow({
      byNumber: async (number) => {
        asked.push(number)
        return node.byNumber(number)
      },
    })
    const found = () => events.find((each): each is Due => each.kind === event)
    for (let number = 11, due = performance.now(); !found(); number += 1) {
      if (isThere) node.serve(rpcHeader(number))
      due += EVERY_MS
      await until(() => found() !== undefined || performance.now() >= due)
      if (!found()) next(number)
    }
    const { number } = found()!
    return { follower, events, asked, number: Number(number) }
  }

  it('asks for a block at its expected time and follows it without fetching it by hash', async () => {
    const { events, asked, number } = await paced(true, 'early')
    // Not `current()`: on a busy machine the next block is late, and this one no longer trusted, before the test looks.
    const followed = () => events.map((event) => (event.kind === 'head' ? event.header.hash : undefined))
    await until(() => followed().includes(hashOf(number)))
    expect(node.fetchedHashes).not.toContain(hashOf(number))
    expect(new Set(asked).size).toBe(asked.length)
  })

  it('fetches an announced block that the node did not have when it was expected, and asks for it early only once', async () => {
    const { follower, asked, number } = await paced(false, 'inVain')
    next(number)
    await until(() => follower.status().head === BigInt(number))
    expect(node.fetchedHashes).toContain(hashOf(number))
    expect(new Set(asked).size).toBe(asked.length)
  })
})

describe('HeadFollower', () => {
  it('follows an announced head without asking for the latest block', async () => {
    const { follower } = await follow()
    const before = [node.asked(), node.fetched()] as const
    next(11)
    await until(() => follower.current()?.header.number === 11n)
    expect(node.asked()).toBe(before[0])
    expect(node.fetched()).toBe(before[1] + 1)
  })

  it('waits until an announced head can be fetched, and reports one that never can', async () => {
    const { follower, events } = await follow()
    const header = rpcHeader(11)
    node.announce(header)
    await until(() => node.fetched() > 2)
    expect(follower.status().head).toBe(10n)
    node.serve(header)
    await until(() => follower.status().head === 11n)
    node.announce(rpcHeader(12, 3))
    await until(() => events.some(({ kind }) => kind === 'unserved'))
    next(12)
    await until(() => follower.status().head === 12n)
  })

  it('follows a node that serves each block only after it has announced the next ones', async () => {
    const { numbers } = await follow()
    for (let number = 11; number <= 50; number += 1) {
      if (number > 14) node.serve(rpcHeader(number - 4))
      node.announce(rpcHeader(number))
      await sleep(20)
    }
    expect(numbers().length).toBeGreaterThan(4)
    expect(numbers()).toEqual(numbers().toSorted((one, other) => one - other))
  })

  it('requests a block once more if the answer to the first request is lost', async () => {
    let isLost = true
    const { follower, events, numbers } = await follow({
      byHash: async (hash) => {
        if (hash !== hashOf(12) || !isLost) return node.byHash(hash)
        isLost = false
        await sleep(3_000, undefined, { ref: false })
        throw new Error('no answer in time')
      },
    })
    for (const number of [11, 12]) {
      node.serve(rpcHeader(number))
      node.announce(rpcHeader(number))
      await until(() => follower.status().head === BigInt(number) || events.some(({ kind }) => kind === 'unserved'))
    }
    await until(() => numbers().includes(12) || events.some(({ kind }) => kind === 'unserved'))
    expect(events.filter(({ kind }) => kind === 'unserved')).toEqual([])
    expect(numbers()).toContain(12)
  })

  it('takes a head that is announced twice only once, and fetches and prepares the skipped blocks', async () => {
    const prepared: [number, number | undefined][] = []
    const told: Hash[][] = []
    const { numbers, events } = await follow({
      onChange: ({ added }) => told.push(added.map(({ header }) => header.hash)),
      prepare: async (block, parent) => {
        prepared.push([Number(block.header.number), parent && Number(parent.number)])
      },
    })
    next(11)
    next(11)
    await until(() => numbers().at(-1) === 11)
    for (const number of [12, 13]) node.serve(rpcHeader(number))
    next(14)
    await until(() => numbers().at(-1) === 14)
    expect(numbers()).toEqual([10, 11, 14])
    expect(told).toEqual([[hashOf(10)], [hashOf(11)], [hashOf(12), hashOf(13), hashOf(14)]])
    expect(events.at(-1)).toMatchObject({ missed: 2, reorganised: false })
    expect(prepared).toEqual([
      [10, undefined],
      [11, 10],
      [12, 11],
      [13, 12],
      [14, 13],
    ])
  })

  it('reports every block to listeners, retries one that is not served yet, and reports a gap if too many are missing', async () => {
    const told: [number, number, boolean][] = []
    const { follower, numbers } = await follow({
      onChange: ({ added, head, isGap }) => told.push([Number(head.header.number), added.length, isGap]),
    })
    follower.keepFollowing()
    for (let number = 11; number <= 59; number += 1) node.serve(rpcHeader(number))
    const late = rpcHeader(60)
    next(61)
    await until(() => node.fetchedHashes.filter((hash) => hash === late.hash).length > 1)
    node.serve(late)
    node.serve(rpcHeader(61))
    await until(() => numbers().at(-1) === 61)
    next(400)
    await until(() => numbers().at(-1) === 400)
    expect(told).toEqual([
      [10, 1, false],
      [61, 51, false],
      [400, 1, true],
    ])
  })

  it('reads on a head whose parent is not served yet, without the blocks of the other branch below it', async () => {
    const { follower, numbers } = await follow()
    follower.keepFollowing()
    next(11)
    next(12)
    await until(() => numbers().at(-1) === 12)
    expect(follower.header(12n)?.hash).toBe(hashOf(12))
    next(13, 1, 11)
    await until(() => follower.header(13n)?.hash === hashOf(13, 1))
    expect([numbers().at(-1), follower.header(12n)]).toEqual([12, undefined])
    node.serve(rpcHeader(12, 1, 11))
    node.serve(rpcHeader(13, 1, 11))
    await until(() => numbers().at(-1) === 13)
    expect(follower.header(12n)?.hash).toBe(hashOf(12, 1))
  })

  it('asks for each head once if a flashblock stream announces it, and not in between', async () => {
    const { follower, numbers } = await follow({ urls: [] })
    follower.isStreamed = true
    for (let number = 11; number <= 13; number += 1) {
      // The stream builds on the block before, so it hears of that one first.
      follower.noteStreamedHead(BigInt(number - 1))
      await sleep(300)
      const [before, since] = [node.asked(), performance.now()]
      node.serve(rpcHeader(number))
      follower.noteStreamedHead(BigInt(number))
      await until(() => numbers().at(-1) === number)
      await sleep(200)
      // Later than this, the head counts as late and is asked for again.
      if (performance.now() - since < 400) expect(node.asked() - before).toBe(1)
    }
  })

  it('abandons a head whose branch is gone for the next head, and reports no gap', async () => {
    const told: [Hash, number, boolean][] = []
    const { relay, published } = replicas('leads')
    const gone = rpcHeader(12, 1, 10)
    const { follower, numbers } = await follow({
      relay,
      onChange: ({ added, head, isGap }) => told.push([head.header.hash, added.length, isGap]),
      byHash: async (hash) => {
        const block = await node.byHash(hash)
        if (hash === gone.parentHash) await until(() => published.includes(hashOf(13)))
        return block
      },
    })
    follower.keepFollowing()
    next(12, 1, 10)
    await until(() => node.fetchedHashes.includes(gone.parentHash))
    for (const number of [11, 12]) node.serve(rpcHeader(number))
    next(13)
    await until(() => numbers().at(-1) === 13)
    expect(told).toEqual([
      [hashOf(10), 1, false],
      [hashOf(13), 3, false],
    ])
  })

  it.each([1, 2, 3, 4, 5])('follows a reorg of depth %i and reports it once', async (depth) => {
    const { follower, events, numbers } = await follow()
    for (let number = 11; number <= 15; number++) {
      next(number)
      await until(() => numbers().at(-1) === number)
    }
    const forkedAt = 15 - depth
    for (let number = forkedAt + 1; number <= 16; number++) {
      next(number, 1, forkedAt)
      await until(() => follower.current()?.header.hash === hashOf(number, 1))
    }
    expect(events.filter((event) => event.kind === 'head' && event.reorganised)).toHaveLength(1)
  })

  it('keeps the newer head if another node announces an older one', async () => {
    const lagging = await startNode()
    const { follower } = await follow({ urls: [node.url, lagging.url] })
    next(11)
    await until(() => follower.status().head === 11n)
    next(12)
    await until(() => follower.status().head === 12n)
    const late = rpcHeader(11)
    lagging.announce(late)
    await sleep(20)
    expect(follower.current()?.header.number).toBe(12n)
    await lagging.close()
  })

  it('follows no URL of another chain, whose blocks have higher numbers', async () => {
    const foreign = await startNode('0x2105')
    const { follower, events } = await follow({ urls: [node.url, foreign.url], subscribed: 1 })
    const isRefused = (event: HeadEvent) => event.kind === 'lost' && event.reason === 'serves chain 8453, not chain 1'
    await until(() => events.some(isRefused))
    for (let number = 11; number <= 15; number += 1) {
      foreign.announce(rpcHeader(900 + number, 7))
      next(number)
      await until(() => follower.status().head === BigInt(number))
    }
    expect(follower.current()?.header.number).toBe(15n)
    expect(node.fetchedHashes.filter((hash) => BigInt(hash) > 2n ** 40n)).toEqual([])
    await foreign.close()
  })

  it('takes no announcement before the node has confirmed the subscription', async () => {
    const { follower, events } = await follow()
    const subscribed = () => follower.status().subscribed
    const unasked = { jsonrpc: '2.0', method: 'eth_subscription', params: { result: rpcHeader(99, 2) } }
    node.server.on('connection', (socket) => socket.send(JSON.stringify(unasked)))
    for (const client of node.server.clients) client.terminate()
    await until(() => events.some(({ kind }) => kind === 'lost') && subscribed() === 1)
    next(11)
    await until(() => follower.status().head === 11n)
    expect(node.fetchedHashes).not.toContain(hashOf(99, 2))
  })

  it('follows the branch that continues if two nodes announce different heads at the same height', async () => {
    const other = await startNode()
    const prepared: string[] = []
    const { follower } = await follow({
      urls: [node.url, other.url],
      prepare: async (block, parent) => {
        prepared.push(`${block.header.hash} on ${parent?.hash}`)
      },
    })
    const rival = rpcHeader(11, 1)
    node.serve(rival)
    next(11)
    other.announce(rival)
    await until(() => follower.status().head === 11n)
    expect([hashOf(11), hashOf(11, 1)]).toContain(follower.current()?.header.hash)
    next(12, 1, 10)
    await until(() => follower.current()?.header.hash === hashOf(12, 1))
    expect(prepared.slice(-2)).toEqual([
      expect.stringContaining(`${hashOf(11, 1)} on ${hashOf(10)}`),
      `${hashOf(12, 1)} on ${hashOf(11, 1)}`,
    ])
    await other.close()
  })

  it('reports an unknown head and keeps asking if the node answers null for latest', async () => {
    let isNull = false
    const latest = async () => (isNull ? blockCall('latest').decode(null) : node.latest())
    const { follower, events } = await follow({ urls: [], latest })
    isNull = true
    await until(() => events.some(({ kind }) => kind === 'unknown'))
    expect(follower.status().head).toBe(10n)
    node.serve(rpcHeader(11))
    isNull = false
    await until(() => follower.status().head === 11n)
  })

  it('keeps the old head while a new one is prepared, until the time limit for preparation', async () => {
    let release = () => {}
    const { follower } = await follow({
      prepare: (block) =>
        block.header.number === 11n ? new Promise((resolve) => (release = resolve)) : Promise.resolve(),
    })
    next(11)
    await until(() => node.fetched() > 0)
    expect(follower.status().head).toBe(10n)
    await until(() => follower.status().head === 11n)
    release()
  })

  it('polls without a subscription, and trusts no head until it has learnt the block interval', async () => {
    const { follower } = await follow({ urls: [] })
    for (let number = 11; number <= 13; number++) {
      node.serve(rpcHeader(number))
      await until(() => follower.status().head === BigInt(number))
      expect(follower.current()).toBeUndefined()
    }
    node.latest = () => Promise.reject(new Error('gone'))
    await sleep(20)
    expect(follower.status().head).toBe(13n)
  })

  it('trusts the first head if the node was asked for it after the subscription began', async () => {
    const { follower } = await follow()
    expect(follower.current()?.header.number).toBe(10n)
  })

  it('follows the head of a request’s answer, and trusts it once a subscription announces it too', async () => {
    const { follower } = await follow()
    const header = rpcHeader(11)
    node.serve(header)
    follower.noteNodeHead(blockOf(header).header, performance.now())
    expect(follower.status()).toMatchObject({ head: 11n, trusted: false })
    node.announce(header)
    await until(() => follower.status().trusted)
    expect(follower.current()?.header.number).toBe(11n)
  })

  it('does not trust the head of a silent subscription while the node has newer blocks', async () => {
    const { follower } = await follow()
    for (let number = 11; number <= 14; number++) {
      const header = rpcHeader(number)
      node.serve(header)
      follower.noteNodeHead(blockOf(header).header, performance.now())
      expect(follower.current()).toBeUndefined()
      await until(() => node.fetched() > number - 10)
      expect(follower.current()).toBeUndefined()
    }
    next(15)
    await until(() => follower.current()?.header.number === 15n)
  })

  it('continues after a failed preparation and malformed announcements', async () => {
    const { follower, events } = await follow({
      prepare: async ({ header }) => {
        if (header.number === 11n) throw new Error('no state')
      },
    })
    next(11)
    await until(() => follower.status().head === 11n)
    expect(events).toContainEqual({ kind: 'failed', reason: 'no state' })
    node.send('{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0xabc","result":{"number":7}}}')
    node.send('nonsense')
    next(12)
    await until(() => follower.status().head === 12n)
  })

  it('reconnects after a lost connection and polls in the meantime', async () => {
    const { follower, events } = await follow()
    for (const client of node.server.clients) client.terminate()
    await until(() => events.some(({ kind }) => kind === 'lost'))
    node.serve(rpcHeader(11))
    await until(() => follower.status().head === 11n)
    await until(() => follower.status().subscribed === 1)
    next(12)
    await until(() => follower.status().head === 12n)
    expect(events.find((event) => event.kind === 'lost')).toMatchObject({ host: new URL(node.url).host })
  })

  it('follows after the first request in mode auto, and never in mode off', async () => {
    node.serve(rpcHeader(10))
    const options = { urls: [], chainId: () => 1n, askHead: asking(() => auto), byHash: node.byHash, observe: () => {} }
    const auto: HeadFollower<Block> = new HeadFollower<Block>({ ...options, mode: 'auto' })
    const off = new HeadFollower<Block>({ ...options, mode: 'off' })
    followers.push(auto, off)
    await sleep(20)
    expect(node.asked()).toBe(0)
    expect([auto.current(), off.current()]).toEqual([undefined, undefined])
    await until(() => auto.status().head === 10n)
    expect(off.status().following).toBe(false)
    expect(off.current()).toBeUndefined()
  })

  it('stops following in mode auto once it is idle, and resumes with the next request', async () => {
    const { follower, events } = await follow({ mode: 'auto', idleMs: 100, wakes: true })
    await until(() => events.some(({ kind }) => kind === 'resting'))
    expect(follower.status()).toMatchObject({ following: false, subscribed: 0, trusted: false })
    const asked = node.asked()
    next(11)
    await sleep(50)
    expect(node.asked()).toBe(asked)
    expect(follower.current()).toBeUndefined()
    await until(() => follower.status().head === 11n)
  })
})
