import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request, WebSocket } from 'undici'

/** Something that a client may do to keep others from being served. */
export interface Attack {
  /** For `--only`. */
  name: string
  title: string
  /** The gateway follows the node's head. */
  isFollowing?: boolean
  /** Goes on until its process is killed. What becomes of its requests does not matter. */
  run(url: string, nodeUrl: string): Promise<void>
}

/** Below the default limit of calls of one client. */
const CALLS_PER_SECOND = 48
const TARGET = '0x00000000000000000000000000000000000c0de5'

/** JUMPDEST, PUSH1 0, JUMP. */
const LOOP = '0x5b600056'
/** JUMPDEST, five PUSH0, PUSH1 0x99, GAS, CALL, POP, PUSH0, JUMP: calls an empty account again and again. */
const CALLS = '0x5b5f5f5f5f5f60995af1505f56'
/** PUSH0, JUMPDEST DUP1 SLOAD POP PUSH1 1 ADD PUSH1 1 JUMP */
const SLOTS = '0x5f5b8054506001016001560000'
/** Returns 1 MiB of zeroes. */
const RETURNS_A_MEBIBYTE = '0x621000005ff3'
/** Fills 128 KiB of memory and calls itself with all of its gas. */
const DEEP = '0x6001620200005260005f5f5f5f305af1'

const UPGRADE = [
  'GET / HTTP/1.1',
  'host: x',
  'connection: Upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
  '\r\n',
].join('\r\n')
/** One frame of text (RFC 6455, 5.2) of 1,000,000 bytes that is not the last of its message, masked with zeroes. */
const HALF_A_MESSAGE = `\x01\xff\0\0\0\0\0\x0f\x42\x40\0\0\0\0${'x'.repeat(1_000_000)}`

/** Fragments of a message (RFC 6455, 5.4) with a byte each. */
const A_FRAGMENT = '\x01\x81\0\0\0\0x'
const NEXT_FRAGMENT = '\0\x81\0\0\0\0x'

/** Of `E(uint256[][][][][])`. */
const TOPIC = '0x09aae69664614ad1573e713fd5a3495df34b001ed179722ecda7c67e0573c04d'

export const ATTACKS: Attack[] = [
  {
    name: 'long-answers',
    title: '20 calls of 1 MiB each, 48 requests/s',
    run: (url) => atPace([1], url, simulation(RETURNS_A_MEBIBYTE, 20)),
  },
  {
    name: 'long-answers-many',
    title: 'the same from 20 addresses',
    run: (url) => atPace(range(20), url, simulation(RETURNS_A_MEBIBYTE, 20)),
  },
  {
    name: 'unread-answers',
    title: '20 calls of 1 MiB each, answers not read, 20 addresses',
    run: unread,
  },
  {
    name: 'loops',
    title: '50M-gas loops, 48 requests/s',
    run: (url) => atPace([1], url, simulation(LOOP, 1)),
  },
  {
    name: 'deep-memory',
    title: 'deep frames with memory of their own, 20 addresses',
    run: (url) => atPace(range(20), url, simulation(DEEP, 1)),
  },
  {
    name: 'overrides',
    title: 'eight bodies of 60,000 overrides at a time',
    run: (url) => together(8, url, overrides(60_000)),
  },
  {
    name: 'half-bodies',
    title: '9,000 connections that send 65,000 bytes and wait',
    run: (url) => waiting(url, 9_000, head(100_000) + 'x'.repeat(65_000), 100),
  },
  {
    name: 'tiny-chunks',
    title: 'a body of 13 MB in chunks of a byte, one connection',
    run: tinyChunks,
  },
  {
    name: 'fragments',
    title: '1,000 WebSockets that send fragments of a byte',
    run: (url) => waiting(url, 1_000, UPGRADE + A_FRAGMENT + NEXT_FRAGMENT.repeat(100_000), 10),
  },
  {
    name: 'unread-messages',
    title: '4 WebSockets that ask for 62 KiB 48 times/s and never read',
    run: unreadMessages,
  },
  {
    name: 'abi-pointers',
    title: '380 logs of nested lists that point at the same place, with their ABI',
    run: (url) => together(4, url, sharedPointers()),
  },
  {
    name: 'abi-names',
    title: 'an ABI with a name of 7 MB',
    run: (url) =>
      together(2, url, inspection('0x00', '0x', [{ type: 'event', name: 'x'.repeat(7_000_000), inputs: [] }])),
  },
  {
    name: 'mcp-lists',
    title: '20 connections that ask /mcp for its tools',
    run: (url) => together(20, `${url}/mcp`, rpc('tools/list', {})),
  },
  {
    name: 'mcp-long-answers',
    title: 'a simulation with an answer of 35 MB by /mcp, 4 at a time',
    run: (url) =>
      together(
        4,
        `${url}/mcp`,
        rpc('tools/call', { name: 'simulate', arguments: { ...returning(17), block: 'latest' } }),
      ),
  },
  {
    name: 'access-lists',
    title: '20 access lists of a loop that reads slot after slot, 20 addresses',
    run: (url) => fromEach(20, url, accessList()),
  },
  {
    name: 'frames',
    title: 'traces, state diffs and access lists of a loop of calls, 20 addresses',
    run: (url) => fromEach(20, url, shown(CALLS, { trace: true, stateDiff: true, accessLists: true })),
  },
  {
    name: 'trace-many',
    title: 'trace_callMany of 50 loops of calls, 20 addresses',
    run: (url) => {
      const call = [{ data: CALLS, gas: '0xf4240' }, ['trace', 'stateDiff']]
      return fromEach(20, url, rpc('trace_callMany', [Array(50).fill(call), 'latest']))
    },
  },
  {
    name: 'depends',
    title: 'what decided a loop that reads slot after slot, and whether it would do otherwise, 20 addresses',
    run: (url) => fromEach(20, url, shown(SLOTS, { depends: true, outcome: true })),
  },
  {
    name: 'block-traces',
    title: 'each instruction of a block of 200 transactions, 20 addresses',
    run: async (url, nodeUrl) => {
      await fillBlock(nodeUrl, 200)
      await fromEach(20, url, rpc('debug_traceBlockByNumber', ['latest', { disableStorage: false }]))
    },
  },
  {
    name: 'sweeps',
    title: 'a loop at each of the 201 positions of a block, 20 addresses',
    run: async (url, nodeUrl) => {
      await fillBlock(nodeUrl, 200)
      await fromEach(20, url, shown(LOOP, { positions: 'all', assetChanges: true }, '0x30d40'))
    },
  },
  {
    name: 'log-subscriptions',
    title: '100 subscriptions to logs, three blocks of 2,000 logs at a time',
    isFollowing: true,
    run: subscribed,
  },
  {
    name: 'idle-connections',
    title: '12,000 connections that ask nothing',
    run: (url) => waiting(url, 12_000, '', 100),
  },
  {
    name: 'half-messages',
    title: '1,000 WebSockets that send 1 MB of a message and wait',
    run: (url) => waiting(url, 1_000, UPGRADE + HALF_A_MESSAGE, 10),
  },
]

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

function simulation(code: string, calls: number): string {
  const call = { to: TARGET }
  const blockStateCalls = [{ stateOverrides: { [TARGET]: { code } }, calls: Array(calls).fill(call) }]
  return rpc('eth_simulateV1', [{ blockStateCalls }, 'latest'])
}

function overrides(count: number): string {
  const stateOverrides = Object.fromEntries(
    range(count).map((index) => [`0x${index.toString(16).padStart(40, '0')}`, { balance: '0x1' }]),
  )
  return rpc('eth_simulateV1', [{ blockStateCalls: [{ stateOverrides, calls: [{ to: TARGET }] }] }, 'latest'])
}

function returning(calls: number) {
  const call = { to: TARGET }
  return {
    blockStateCalls: [{ stateOverrides: { [TARGET]: { code: RETURNS_A_MEBIBYTE } }, calls: Array(calls).fill(call) }],
  }
}

function accessList(): string {
  return rpc('eth_createAccessList', [{ to: TARGET }, 'latest', { [TARGET]: { code: SLOTS, state: {} } }])
}

function inspection(code: string, input: string, abi: unknown[]): string {
  const blockStateCalls = [{ stateOverrides: { [TARGET]: { code } }, calls: [{ to: TARGET, input }] }]
  return rpc('upfront_simulate', [{ blockStateCalls, abi }, 'latest'])
}

/** `upfront_simulate` of one call to the code. */
function shown(code: string, fields: object, gas?: string): string {
  const blockStateCalls = [{ stateOverrides: { [TARGET]: { code } }, calls: [{ to: TARGET, ...(gas && { gas }) }] }]
  return rpc('upfront_simulate', [{ blockStateCalls, ...fields }, 'latest'])
}

/** Each list has 20 places that hold the same next list. */
function sharedPointers(): string {
  const word = (value: number) => value.toString(16).padStart(64, '0')
  const level = word(20) + word(20 * 32).repeat(20)
  const input = `0x${word(32)}${level.repeat(4)}${word(20)}${word(1).repeat(20)}`
  // CALLDATASIZE PUSH0 PUSH0 CALLDATACOPY PUSH2 380, JUMPDEST PUSH32 topic CALLDATASIZE PUSH0 LOG1, PUSH1 1 SWAP1 SUB DUP1 PUSH1 7 JUMPI
  const code = `0x365f5f3761017c5b7f${TOPIC.slice(2)}365fa1600190038060075700`
  const event = { type: 'event', name: 'E', inputs: [{ type: 'uint256[][][][][]', name: 'deep', indexed: false }] }
  return inspection(code, input, [event])
}

function rpc(method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

/** A client on loopback with an address of its own. */
function agentOf(client: number): Agent {
  return new Agent({
    localAddress: addressOf(client),
    connections: 64,
    headersTimeout: 60_000,
    bodyTimeout: 60_000,
  })
}

function addressOf(client: number): string {
  return `127.0.1.${client}`
}

async function post(url: string, body: string, dispatcher: Agent): Promise<void> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  try {
    const response = await request(url, { method: 'POST', headers, body, dispatcher })
    for await (const _ of response.body);
  } catch {
    // Refused or cut off.
  }
}

/** Each client sends its calls without waiting for answers. */
async function atPace(clients: number[], url: string, body: string): Promise<void> {
  const agents = clients.map(agentOf)
  for (;;) {
    for (const agent of agents) void post(url, body, agent)
    await sleep(1_000 / CALLS_PER_SECOND)
  }
}

async function together(count: number, url: string, body: string, client = 1): Promise<void> {
  const agent = agentOf(client)
  const again = async () => {
    for (;;) await post(url, body, agent)
  }
  await Promise.all(range(count).map(again))
}

async function fromEach(clients: number, url: string, body: string): Promise<void> {
  await Promise.all(range(clients).map((client) => together(1, url, body, client)))
}

/** Keeps opening connections that ask and never read. */
async function unread(url: string): Promise<void> {
  const body = simulation(RETURNS_A_MEBIBYTE, 20)
  for (;;) {
    for (const client of range(20))
      dial(url, client)
        .pause()
        .write(head(body.length) + body)
    await sleep(100)
  }
}

/** Sends one body after another byte by byte, as fast as it is read. */
async function tinyChunks(url: string): Promise<void> {
  const start = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n'
  const chunks = '1\r\nx\r\n'.repeat(10_000)
  for (;;) {
    const socket = dial(url, 1).resume()
    const isOver = new Promise<void>((resolve) => socket.once('close', resolve))
    socket.write(start)
    for (let sent = 0; sent < 1_300 && !socket.destroyed; sent++) {
      if (!socket.write(chunks)) await Promise.race([once(socket, 'drain').catch(() => undefined), isOver])
    }
    await Promise.race([sleep(100), isOver])
    socket.destroy()
  }
}

/** Keeps asking over the same connections, whatever is answered. */
async function unreadMessages(url: string): Promise<void> {
  const text = simulation('0x617c005ff3', 1)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(text.length)
  const message = Buffer.concat([Buffer.from([0x81, 0xfe]), length, Buffer.alloc(4), Buffer.from(text)])
  const sockets = range(4).map(() => dial(url, 1).pause())
  for (const socket of sockets) socket.write(UPGRADE)
  for (;;) {
    for (const socket of sockets) {
      await sleep(1_000 / CALLS_PER_SECOND)
      socket.write(message)
    }
  }
}

/** PUSH2 2000, JUMPDEST PUSH0 PUSH0 LOG0, PUSH1 1 SWAP1 SUB DUP1 PUSH1 3 JUMPI, STOP: as a contract's creation. */
const TWO_THOUSAND_LOGS = '0x6107d05b5f5fa06001900380600357005b00'

/** Ten connections with ten subscriptions each read all that they are told, while three blocks full of logs come every five seconds. */
async function subscribed(url: string, nodeUrl: string): Promise<void> {
  for (const client of range(10)) {
    const socket = new WebSocket(url.replace('http', 'ws'), { dispatcher: agentOf(client) })
    await new Promise((resolve) => socket.addEventListener('open', resolve))
    for (const _ of range(10)) socket.send(rpc('eth_subscribe', ['logs', {}]))
  }
  const answerOf = asking(nodeUrl)
  const [from] = (await answerOf('eth_accounts', [])) as string[]
  for (;;) {
    // It mines a block for each.
    for (const _ of range(3)) {
      await answerOf('eth_sendTransaction', [{ from, data: TWO_THOUSAND_LOGS, gas: '0x1c9c380' }])
    }
    await sleep(5_000)
  }
}

/** Seals one block of so many transactions that loop through 100,000 gas each. */
async function fillBlock(nodeUrl: string, transactions: number): Promise<void> {
  const answerOf = asking(nodeUrl)
  const [from] = (await answerOf('eth_accounts', [])) as string[]
  await answerOf('evm_setAutomine', [false])
  for (const _ of range(transactions)) await answerOf('eth_sendTransaction', [{ from, data: LOOP, gas: '0x249f0' }])
  await answerOf('evm_mine', [])
  await answerOf('evm_setAutomine', [true])
}

function asking(nodeUrl: string): (method: string, params: unknown[]) => Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const dispatcher = new Agent()
  return async (method, params) => {
    const { body } = await request(nodeUrl, { method: 'POST', headers, body: rpc(method, params), dispatcher })
    return ((await body.json()) as { result: unknown }).result
  }
}

/** Connections that send the beginning of something. Ten clients, as one may have a thousand connections. */
async function waiting(url: string, count: number, beginning: string, atATime: number): Promise<void> {
  const bytes = Buffer.from(beginning, 'latin1')
  for (const index of range(count)) {
    dial(url, 1 + (index % 10))
      .resume()
      .write(bytes)
    if (index % atATime === 0) await sleep(10)
  }
}

function dial(url: string, client: number): Socket {
  const { hostname, port } = new URL(url)
  return connect({ port: Number(port), host: hostname, localAddress: addressOf(client) }).on('error', () => undefined)
}

function head(length: number): string {
  return `POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
}
