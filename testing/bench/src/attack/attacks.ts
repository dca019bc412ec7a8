import { setTimeout as sleep } from 'node:timers/promises'
import {
  again,
  atPace,
  type Entrance,
  head,
  slowly,
  subscribe,
  tinyChunks,
  UPGRADE,
  unread,
  unreadMessages,
  waiting,
} from './clients.js'
import * as requests from './requests.js'

/** An attempt of a client to keep others from being served. */
export interface Attack {
  /** Name for `--only`. */
  name: string
  title: string
  /** The gateway follows the node's head. */
  isFollowing?: boolean
  /** Prepares the node. */
  before?(nodeUrl: string): Promise<void>
  /** Runs until its process is killed. Outcomes of its requests don't matter. */
  run(url: string, nodeUrl: string): Promise<void>
}

/** Requests that may arrive by several entrances. */
interface Asked {
  name: string
  title: string
  clients: number
  /** Connections per client, each of which repeats its request once answered. Absent: 48 requests a second, answered or not. */
  connections?: number
  /** Prepares the node. */
  before?(nodeUrl: string): Promise<void>
  /** The request for each entrance that reaches this work. It may need a contract on the node. */
  by: Partial<Record<Entrance, requests.Call | ((nodeUrl: string) => Promise<requests.Call>)>>
}

const LONG_ANSWERS = requests.simulation(requests.RETURNS_A_MEBIBYTE, 20)
const LOOPS = requests.simulation(requests.LOOP, 1)
const DEEP = requests.simulation(requests.DEEP, 1)
const FRAMES = requests.inspection(requests.CALLS, { trace: true, stateDiff: true, accessLists: true })
const OUTCOMES = requests.inspection(requests.CALLS, { trace: true, outcome: true })
const DEPENDS = requests.inspection(requests.SLOTS, { depends: true, outcome: true })
const SWEEP = requests.inspection(requests.LOOP, { positions: 'all', assetChanges: true }, { gas: '0x30d40' })
const BLOCK_TRACE = { method: 'debug_traceBlockByNumber', params: ['latest', { disableStorage: false }] }
const TOOLS = { method: 'tools/list', params: {} as never }

/** The first text frame (RFC 6455, 5.2) of a message without an end: 1,000,000 bytes, masked with zeroes. */
const HALF_A_MESSAGE = `\x01\xff\0\0\0\0\0\x0f\x42\x40\0\0\0\0${'x'.repeat(1_000_000)}`
/** A request without its last byte. */
const HALF_A_BODY = head('/', 1_000_001) + 'x'.repeat(1_000_000)
/** One-byte fragments of a message (RFC 6455, 5.4). */
const A_FRAGMENT = '\x01\x81\0\0\0\0x'
const NEXT_FRAGMENT = '\0\x81\0\0\0\0x'

function both(call: requests.Call): Asked['by'] {
  return { http: call, ws: call }
}

function allThree(call: requests.Call): Asked['by'] {
  return { ...both(call), mcp: requests.simulateTool(call) }
}

function preview(code: string): (nodeUrl: string) => Promise<requests.Call> {
  return async (nodeUrl) => requests.previewTool(await requests.deployed(nodeUrl, code))
}

const ASKED: Asked[] = [
  { name: 'long-answers', title: '20 calls of 1 MiB each, 48 requests/s', clients: 1, by: allThree(LONG_ANSWERS) },
  { name: 'long-answers-many', title: 'the same from 20 addresses', clients: 20, by: allThree(LONG_ANSWERS) },
  { name: 'loops', title: '50M-gas loops, 48 requests/s', clients: 1, by: allThree(LOOPS) },
  {
    name: 'previews',
    title: 'previews of a contract that loops, 48 requests/s',
    clients: 1,
    by: { mcp: preview(requests.LOOP) },
  },
  {
    name: 'deep-memory',
    title: 'deep frames with memory of their own, 20 addresses, 48 requests/s each',
    clients: 20,
    by: allThree(DEEP),
  },
  {
    name: 'overrides',
    title: 'bodies of 60,000 overrides (by WebSocket 14,000), 8 connections',
    clients: 1,
    connections: 8,
    by: { ...allThree(requests.overrides(60_000)), ws: requests.overrides(14_000) },
  },
  {
    name: 'abi-pointers',
    title: '380 logs of nested lists that point at the same place, with their ABI',
    clients: 1,
    connections: 4,
    by: allThree(requests.sharedPointers()),
  },
  {
    name: 'abi-names',
    title: 'an ABI with a name of 7 MB (by WebSocket 1 MB)',
    clients: 1,
    connections: 2,
    by: { http: requests.longName(7_000_000), ws: requests.longName(1_000_000) },
  },
  {
    name: 'long-bodies',
    title: '1,000 connections that send 1 MB of a call again and again, 20 addresses',
    clients: 20,
    connections: 50,
    by: both(requests.simulation('0x00', 1, `0x${'00'.repeat(500_000)}`)),
  },
  { name: 'lists', title: '20 connections that ask for the tools', clients: 1, connections: 20, by: { mcp: TOOLS } },
  {
    name: 'access-lists',
    title: 'access lists of a loop that reads slot after slot, 20 addresses',
    clients: 20,
    connections: 1,
    by: both(requests.accessList()),
  },
  {
    name: 'frames',
    title: 'traces, state diffs and access lists of a loop of calls (by MCP previews), 20 addresses',
    clients: 20,
    connections: 1,
    by: { ...both(FRAMES), mcp: preview(requests.CALLS) },
  },
  {
    name: 'outcomes',
    title: 'traces and outcomes of a loop of calls, 20 addresses, four at a time each',
    clients: 20,
    connections: 4,
    by: both(OUTCOMES),
  },
  {
    name: 'trace-many',
    title: 'trace_callMany of 50 loops of calls, 20 addresses',
    clients: 20,
    connections: 1,
    by: both(requests.traceMany(50)),
  },
  {
    name: 'depends',
    title: 'what decided a loop that reads slot after slot, and whether it would do otherwise, 20 addresses',
    clients: 20,
    connections: 1,
    by: both(DEPENDS),
  },
  {
    name: 'block-traces',
    title: 'each instruction of a block of 200 transactions, 20 addresses',
    clients: 20,
    connections: 1,
    before: (nodeUrl) => requests.fillBlock(nodeUrl, 200),
    by: both(BLOCK_TRACE),
  },
  {
    name: 'sweeps',
    title: 'a loop at each of the 201 positions of a block, 20 addresses',
    clients: 20,
    connections: 1,
    before: (nodeUrl) => requests.fillBlock(nodeUrl, 200),
    by: both(SWEEP),
  },
]

/** Attacks by connections alone. */
const CONNECTED: Attack[] = [
  ...(['', 'mcp'] as const).flatMap((path): Attack[] => {
    const named = (name: string) => (path === '' ? name : `${path}-${name}`)
    const title = (text: string) => (path === '' ? text : `${text}, by MCP`)
    const call =
      path === '' ? LONG_ANSWERS : requests.simulateTool(requests.simulation(requests.RETURNS_31_KIBIBYTES, 30))
    return [
      {
        name: named('unread-answers'),
        title: title('long answers that are not read, 20 addresses'),
        run: (url) => unread(url, `/${path}`, call),
      },
      {
        name: named('half-bodies'),
        title: title('9,000 connections that send 65,000 bytes and wait'),
        run: (url) => waiting(url, 9_000, head(`/${path}`, 100_000) + 'x'.repeat(65_000), 100),
      },
      {
        name: named('tiny-chunks'),
        title: title('a body of 13 MB in chunks of a byte, one connection'),
        run: (url) => tinyChunks(url, `/${path}`),
      },
    ]
  }),
  {
    name: 'fragments',
    title: '1,000 WebSockets that send fragments of a byte',
    run: (url) => waiting(url, 1_000, UPGRADE + A_FRAGMENT + NEXT_FRAGMENT.repeat(100_000), 10),
  },
  {
    name: 'half-long-bodies',
    title: '1,000 connections that post 1 MB but for a byte and wait',
    run: (url) => waiting(url, 1_000, HALF_A_BODY, 10),
  },
  {
    name: 'slow-bodies',
    title: '1,000 connections that post 1 MB, 20 KB of it five times/s',
    run: (url) => slowly(url, 1_000, HALF_A_BODY),
  },
  {
    name: 'slow-messages',
    title: '1,000 WebSockets that send 1 MB of a message, 20 KB of it five times/s',
    run: (url) => slowly(url, 1_000, UPGRADE + HALF_A_MESSAGE),
  },
  {
    name: 'half-messages',
    title: '1,000 WebSockets that send 1 MB of a message and wait',
    run: (url) => waiting(url, 1_000, UPGRADE + HALF_A_MESSAGE, 10),
  },
  {
    name: 'unread-messages',
    title: '4 WebSockets that ask for 62 KiB 48 times/s and never read',
    run: (url) => unreadMessages(url, requests.simulation(requests.RETURNS_31_KIBIBYTES, 1)),
  },
  {
    name: 'log-subscriptions',
    title: '100 subscriptions to logs, three blocks of 2,000 logs every five seconds',
    isFollowing: true,
    run: async (url, nodeUrl) => {
      await subscribe(url, { connections: 10, each: 10 }, ['logs', {}])
      for (;;) {
        await requests.sealLogs(nodeUrl, 3)
        await sleep(5_000)
      }
    },
  },
  {
    name: 'transaction-subscriptions',
    title: '2,000 subscriptions to whole waiting transactions, 150 of them a second',
    isFollowing: true,
    run: async (url, nodeUrl) => {
      await subscribe(url, { connections: 100, each: 20 }, ['newPendingTransactions', true])
      for (;;) {
        await requests.sealTransfers(nodeUrl, 50)
        await sleep(333)
      }
    },
  },
  {
    name: 'idle-connections',
    title: '12,000 connections that ask nothing',
    run: (url) => waiting(url, 12_000, '', 100),
  },
]

/** One attack per entrance: `loops`, `ws-loops`, `mcp-loops`. */
export const ATTACKS: Attack[] = [...ASKED.flatMap(attacksOf), ...CONNECTED]

function attacksOf({ name, title, clients, connections, before, by }: Asked): Attack[] {
  return (Object.entries(by) as [Entrance, Asked['by'][Entrance]][]).map(([entrance, given]) => ({
    name: entrance === 'http' ? name : `${entrance}-${name}`,
    title: entrance === 'http' ? title : `${title}, by ${entrance === 'ws' ? 'WebSocket' : 'MCP'}`,
    ...(before && { before }),
    run: async (url, nodeUrl) => {
      const call = typeof given === 'function' ? await given(nodeUrl) : given!
      if (connections === undefined) await atPace(clients, url, call, entrance)
      else await again({ clients, connections }, url, call, entrance)
    },
  }))
}
