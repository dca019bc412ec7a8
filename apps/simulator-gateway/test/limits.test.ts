import { once } from 'node:events'
import { connect } from 'node:net'
import { type Anvil, startAnvil, startFaultProxy } from '@upfront/devnet'
import type { FIXED } from '../src/environment/fixed.js'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway, startGatewayProcess, type Variables } from './gateway-process.js'
import { HOSTILE_PROGRAMS } from './programs.js'
import { type BlockResult, callOf } from './simulate-params.js'

const ENDLESS = callOf(assemble(HOSTILE_PROGRAMS['endless loop']))
const SLOTS = callOf(assemble(HOSTILE_PROGRAMS['cold slots']))
/** Each slot determines the next one: nothing can be read ahead. */
const SLOT_AFTER_SLOT = callOf(assemble('1 @loop DUP1 SLOAD ADD 1 ADD >loop JUMP'), { gas: '0x800000000000000' })
const HUGE_GAS = 1_000_000_000_000

let anvil: Anvil
/** A gateway with all limits that do not interfere with one another. */
let strict: GatewayProcess
/** A gateway that lets a client's calls run for long, one at a time. */
let busy: GatewayProcess
/** A gateway that counts requests by the client address from a proxy. */
let rated: GatewayProcess
/** A gateway that closes connections of clients that do not read. */
let impatient: GatewayProcess
const gateways: GatewayProcess[] = []

beforeAll(async () => {
  anvil = await startAnvil(['--port', '0'])
  ;[strict, busy, rated, impatient] = await Promise.all([
    start(
      { LIMITS: { bodyBytes: 120_000, calls: 3, gas: 25_000_000, reads: 50, answerBytes: 100_000 } },
      { callsPerBlock: 2, jsonValues: 5_000, bodyMs: 600 },
    ),
    start({ LIMITS: { gas: HUGE_GAS, timeoutMs: 1_500, inFlight: 1, queued: 1 } }),
    start({ LIMITS: { callsPerSecond: 5 }, TRUSTED_PROXIES: '127.0.0.1' }),
    start({ LIMITS: { gas: 200_000_000 } }, { answerMs: 300 }),
  ])
})
afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()))
  await anvil?.stop()
})

/** A gateway with a memory limit or changed constants gets its own process. */
async function start(environment: Variables, fixed?: Partial<typeof FIXED>): Promise<GatewayProcess> {
  const settings = { UPSTREAM_RPC_URL: anvil.rpcUrl, ...environment }
  const isAlone = fixed !== undefined || 'MEMORY_LIMIT_BYTES' in environment
  const gateway = await (isAlone ? startGatewayProcess(settings, fixed) : startGateway(settings))
  gateways.push(gateway)
  return gateway
}

const JSON_POST = { method: 'POST', headers: { 'content-type': 'application/json' } }

const request = (method: string, params: unknown = []) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

/** Asks until a request is refused: how many fit into one second depends on the machine. */
async function refusedAtLast(ask: () => Promise<Response>): Promise<void> {
  while ((await ask()).status !== 429);
}

/** Asks until a request is answered: the server notices closed connections a little later. */
async function refusedAtFirst<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

describe('limits', () => {
  it('bodyBytes: 413 with or without content-length, and the next request is served', async () => {
    const gateway = strict
    const long = request('eth_chainId', ['x'.repeat(120_000)])
    const chunked = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(long))
        controller.close()
      },
    })
    const streamed = fetch(gateway.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: chunked,
      duplex: 'half',
    } as RequestInit)
    for (const response of [await gateway.post(long), await streamed]) {
      expect(response.status).toBe(413)
      expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32600 } })
    }
    expect(await gateway.call('eth_chainId')).toMatchObject({ result: '0x7a69' })
  })

  it('MEMORY_LIMIT_BYTES: 503 for bodies and answers that exceed it, and all memory is released', async () => {
    // Three sixteenths of such a small limit are for bodies and answers, less than half of that for one client.
    const gateway = await start({ MEMORY_LIMIT_BYTES: '67108864' })
    const body = (bytes: number) => request('eth_chainId', ['x'.repeat(bytes)])
    // A connection is cut if the rest of its body takes more than a second, as may happen on a busy machine.
    const send = (path: string): Promise<Response> =>
      fetch(gateway.url + path, { ...JSON_POST, body: body(6_000_000) }).catch(() => send(path))
    for (const path of ['', '/?']) {
      const large = await send(path)
      expect(large.status).toBe(503)
      expect(large.headers.get('retry-after')).toBe('1')
      // The rest of the refused body may still be arriving.
      const small = () => fetch(gateway.url + path, { ...JSON_POST, body: body(80_000) })
      while ((await small()).status !== 200) await new Promise((resolve) => setTimeout(resolve, 20))
    }
    const long = await gateway.post(request('eth_simulateV1', callOf(assemble(HOSTILE_PROGRAMS['return bomb']))))
    expect(long.status).toBe(503)
    expect(long.headers.get('retry-after')).toBe('1')
    // Only the memory of connections remains.
    while ((await gateway.metric('upfront_held_bytes')) > 1_000_000)
      await new Promise((resolve) => setTimeout(resolve, 20))
  })

  it('content-encoding: 415 for compressed bodies, which are not inflated', async () => {
    const gateway = strict
    for (const encoding of ['gzip', 'br', 'deflate', 'zstd']) {
      const response = await gateway.post('bomb', { 'content-encoding': encoding })
      expect(response.status).toBe(415)
      expect(await response.json()).toMatchObject({ error: { code: -32600 } })
    }
  })

  it('calls: -38026 beyond it, per block and per request', async () => {
    const gateway = strict
    const blocks = (...lengths: number[]) => lengths.map((length) => ({ calls: Array(length).fill({}) }))
    const simulate = (blockStateCalls: unknown) =>
      gateway.call<BlockResult[]>('eth_simulateV1', [{ blockStateCalls }, 'latest'])
    expect((await simulate(blocks(2, 1))).result).toHaveLength(2)
    expect((await simulate(blocks(3))).error?.code).toBe(-38026)
    expect((await simulate(blocks(2, 2))).error?.code).toBe(-38026)
  })

  it('gas: calls get the gas that remains', async () => {
    const gateway = strict
    const { result } = await gateway.call<BlockResult[]>('eth_simulateV1', ENDLESS)
    expect(result?.[0]?.calls[0]).toMatchObject({ status: '0x0', gasUsed: '0x17d7840' })
  })

  it('timeoutMs: stops a runaway call and says so', async () => {
    const gateway = busy
    // Reads its state beforehand, which may take long on a busy machine.
    await gateway.call('eth_simulateV1', callOf(assemble(HOSTILE_PROGRAMS['endless loop']), { gas: '0x186a0' }, {}))
    const params = callOf(assemble(HOSTILE_PROGRAMS['endless loop']), { gas: '0x2540be400' }, {})
    const [payload] = params as [{ blockStateCalls: Record<string, unknown>[] }]
    payload.blockStateCalls[0]!.blockOverrides = { gasLimit: '0xffffffffff' }
    const { error } = await gateway.call('eth_simulateV1', params)
    expect(error).toMatchObject({ code: -32005, message: expect.stringContaining('1500 ms') })
    expect(await gateway.call('eth_chainId')).toMatchObject({ result: '0x7a69' })
  })

  it('timeoutMs: leaves time to ask the node, however short it is', async () => {
    const gateway = await start({ LIMITS: { timeoutMs: 200 } })
    const isAnswered = async (method: string, params: unknown) => {
      // A busy machine may need longer than that.
      for (let attempt = 1; attempt <= 20; attempt += 1)
        if ((await gateway.call(method, params)).result !== undefined) return true
      return false
    }
    expect(await isAnswered('eth_getBalance', [`0x${'7a'.repeat(20)}`, 'latest'])).toBe(true)
    expect(await isAnswered('eth_simulateV1', callOf(assemble('5 SLOAD STOP'), {}, {}))).toBe(true)
  })

  it('timeoutMs: -32005 for a call of 2^59 gas that reads one slot after another', async () => {
    const upstream = await startFaultProxy(anvil.rpcUrl)
    try {
      upstream.latencyMs = 20
      const gateway = await start({
        UPSTREAM_RPC_URL: upstream.url,
        LIMITS: { gas: HUGE_GAS, reads: 1_000_000_000, timeoutMs: 4_000 },
      })
      const [payload] = SLOT_AFTER_SLOT as [{ blockStateCalls: Record<string, unknown>[] }]
      payload.blockStateCalls[0]!.blockOverrides = { gasLimit: '0xfffffffffffffff' }
      const response = await gateway.post(request('eth_simulateV1', SLOT_AFTER_SLOT))
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({
        error: { code: -32005, message: expect.stringMatching(/out of time|longer than 4000 ms/) },
      })
    } finally {
      await upstream.stop()
    }
  })

  it('reads: -32005 beyond it', async () => {
    const gateway = strict
    const { error } = await gateway.call('eth_simulateV1', SLOTS)
    expect(error).toMatchObject({ code: -32005, message: expect.stringContaining('50') })
  })

  it('inFlight and queued: 503 with Retry-After beyond them', async () => {
    const gateway = busy
    const [payload] = ENDLESS as [{ blockStateCalls: Record<string, unknown>[] }]
    const blockStateCalls = [{ ...payload.blockStateCalls[0], blockOverrides: { gasLimit: '0xffffffffff' } }]
    const body = request('eth_simulateV1', [{ blockStateCalls }, 'latest'])
    const responses = await Promise.all([1, 2, 3].map(() => gateway.post(body)))
    const statuses = responses.map(({ status }) => status).sort()
    expect(statuses).toContain(503)
    for (const response of responses.filter(({ status }) => status === 503)) {
      expect(response.headers.get('retry-after')).toBe('1')
      expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32005 } })
    }
    expect(await gateway.call('eth_chainId')).toMatchObject({ result: '0x7a69' })
  })

  it('callsPerSecond: 429 with Retry-After, then served again; health is exempt', async () => {
    const gateway = rated
    const ask = () => gateway.post(request('eth_chainId'), { 'x-forwarded-for': '203.0.113.1' })
    const burst = () => Promise.all(Array.from({ length: 12 }, ask))
    const responses = await burst()
    expect(responses.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(5)
    const refused = (response: Response) => response.status === 429
    while (!responses.some(refused)) responses.push(...(await burst()))
    for (const response of responses.filter(refused)) {
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32005 } })
    }
    expect((await fetch(`${gateway.url}/health/live`)).status).toBe(200)
    while ((await ask()).status !== 200) await new Promise((resolve) => setTimeout(resolve, 100))
  })

  it('callsPerSecond: counts each entry of a batch', async () => {
    const post = (body: string) => rated.post(body, { 'x-forwarded-for': '203.0.113.2' })
    const batch = `[${Array(10).fill(request('eth_chainId')).join()}]`
    expect((await post(batch)).status).toBe(200)
    await refusedAtLast(async () => {
      await post(batch)
      return post(request('eth_chainId'))
    })
  })

  it('callsPerSecond: counts by the address that TRUSTED_PROXIES forward, IPv6 by /64', async () => {
    const from = (gateway: GatewayProcess, address: string) =>
      gateway.post(request('eth_chainId'), { 'x-forwarded-for': address })
    for (const address of [
      '198.51.100.1',
      '198.51.100.2',
      '198.51.100.3:4711',
      'unknown',
      '[2001:db8:1::1]:80',
      '2001:db8::1',
    ])
      expect((await from(rated, address)).status).toBe(200)
    let host = 0
    await refusedAtLast(() => from(rated, `2001:db8::${++host}`))
    await refusedAtLast(() => from(rated, `198.51.100.4:${++host}`))
    const wary = await start({ LIMITS: { callsPerSecond: 1 } })
    await refusedAtLast(() => from(wary, `198.51.100.${++host}`))
  })

  it('values and depth of a body: rejected before parsing', async () => {
    const gateway = strict
    const wide = await gateway.post(`[${'{},'.repeat(6_000)}{}]`)
    expect(await wide.json()).toMatchObject({ id: null, error: { code: -32600 } })
    const deep = await gateway.post(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
    expect(await deep.json()).toMatchObject({ id: null, error: { code: -32600 } })
  })

  it('answerBytes: -32005 beyond it', async () => {
    const gateway = strict
    const { error } = await gateway.call('eth_simulateV1', callOf(assemble(HOSTILE_PROGRAMS['return bomb'])))
    expect(error).toMatchObject({ code: -32005, message: expect.stringContaining('100000') })
  })

  it('a body that trickles in gets 408 and is cut off', async () => {
    const gateway = strict
    const { hostname, port } = new URL(gateway.url)
    const socket = connect(Number(port), hostname)
    let answer = ''
    socket.on('data', (chunk) => (answer += chunk))
    socket.on('error', () => undefined)
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{')
    const trickle = setInterval(() => socket.write(' '), 100)
    await new Promise((resolve) => socket.once('close', resolve))
    clearInterval(trickle)
    expect(answer).toContain('408 Request Timeout')
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ error: { code: -32600 } })
  })

  it('connections and connectionsPerClient: refuses new ones, unless an idle one can be closed', async () => {
    const gateway = await start({ LIMITS: { connectionsPerClient: 3, connections: 5 } })
    const { hostname, port } = new URL(gateway.url)
    const open = (localAddress = '127.0.0.1') => {
      const socket = connect({ port: Number(port), host: hostname, localAddress }).resume()
      const closed = new Promise<'closed'>((resolve) =>
        socket.on('error', () => undefined).on('close', () => resolve('closed')),
      )
      return { socket, closed }
    }
    const first = [open(), open(), open()]
    for (const { socket } of first) if (socket.connecting) await once(socket, 'connect')
    expect(await open().closed).toBe('closed')
    const others = [open('127.0.0.2'), open('127.0.0.2')]
    for (const { socket } of others) if (socket.connecting) await once(socket, 'connect')
    const late = open('127.0.0.2')
    expect(await first[0]!.closed).toBe('closed')
    late.socket.write('GET /health/live HTTP/1.1\r\nhost: a\r\n\r\n')
    expect(String((await once(late.socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /)
    for (const { socket, closed } of [...first, ...others, late]) {
      socket.destroy()
      await closed
    }
    await expect(refusedAtFirst(() => gateway.call('eth_chainId'))).resolves.toMatchObject({ result: '0x7a69' })
  })

  it.each([
    ['/', 'the front'],
    ['/?', 'Fastify'],
  ])('a client that does not read a long answer of %s (%s) is disconnected', async (path) => {
    const gateway = impatient
    const [payload] = callOf(assemble(HOSTILE_PROGRAMS['return bomb'])) as [{ blockStateCalls: [{ calls: unknown[] }] }]
    // 30 MB: more than the sockets' own buffers take.
    const [block] = payload.blockStateCalls
    block.calls = Array(5).fill({ ...(block.calls[0] as object), gas: '0x2000000' })
    const blockOverrides = { gasLimit: '0xffffffff' }
    const body = request('eth_simulateV1', [{ blockStateCalls: [{ ...block, blockOverrides }] }, 'latest'])
    const { hostname, port } = new URL(gateway.url)
    const socket = connect(Number(port), hostname)
    const closed = new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve))
    socket.pause()
    const served = () => gateway.metric('upfront_rpc_calls_total{method="eth_simulateV1",outcome="ok"}')
    // A series without a sample is NaN.
    const servedBefore = (await served()) || 0
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    while (!((await served()) > servedBefore)) await new Promise((resolve) => setTimeout(resolve, 20))
    while ((await gateway.metric('upfront_held_bytes')) > 1_000_000)
      await new Promise((resolve) => setTimeout(resolve, 20))
    socket.resume()
    await closed
  })
})
