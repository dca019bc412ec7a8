import { connect, type Socket } from 'node:net'
import { type Anvil, startAnvil } from '@upfront/devnet'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'

// Plain requests are read from their connections without Node's HTTP server, which takes over for anything else.
let anvil: Anvil
let gateway: GatewayProcess

beforeAll(async () => {
  anvil = await startAnvil(['--port', '0'])
  gateway = await startGatewayProcess({ UPSTREAM_RPC_URL: anvil.rpcUrl })
})
afterAll(async () => {
  await gateway?.stop()
  await anvil?.stop()
})

const call = (id: unknown, params: unknown[] = []) =>
  JSON.stringify({ jsonrpc: '2.0', id, method: params.length === 0 ? 'eth_chainId' : 'eth_simulateV1', params })
const post = (body: string, more = '') =>
  `POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${more}content-length: ${body.length}\r\n\r\n${body}`
const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nhost: a\r\n${more}\r\n`

function open(url = gateway.url): { socket: Socket; received: () => string; closed: Promise<string> } {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let text = ''
  socket.setEncoding('utf8').on('data', (data) => {
    text += data
  })
  const closed = new Promise<string>((resolve) => {
    socket.on('error', () => undefined).on('close', () => resolve(text))
  })
  return { socket, received: () => text, closed }
}

/** Sends the pieces one after another. @returns everything received until the connection is closed */
async function send(...pieces: string[]): Promise<string> {
  const { socket, closed } = open()
  socket.setNoDelay(true)
  for (const piece of pieces) {
    socket.write(piece, 'latin1')
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
  return closed
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10))
}

const statuses = (text: string) => (text.match(/HTTP\/1\.1 \d+/g) ?? []).map((line) => Number(line.slice(9)))
const last = 'connection: close\r\n'

describe('HTTP connections', () => {
  it('serve plain and other requests in turn on one connection', async () => {
    const { socket, received } = open()
    const requests = [post(call(1)), post(call(2)), get('/health/live'), post(call(3)), get('/nothing'), post(call(4))]
    for (const [index, request] of requests.entries()) {
      socket.write(request)
      await until(() => statuses(received()).length > index)
    }
    expect(statuses(received())).toEqual([200, 200, 200, 200, 404, 200])
    expect(received().match(/"id":\d/g)).toEqual(['"id":1', '"id":2', '"id":3', '"id":4'])
    socket.destroy()
  })

  it('answer pipelined requests in order', async () => {
    const text = await send(
      post(call(1)) + post(call(2)) + get('/health/live') + post(call(3)) + get('/health/live', last),
    )
    expect(statuses(text)).toEqual([200, 200, 200, 200, 200])
    expect(text.match(/"id":\d|"live"/g)).toEqual(['"id":1', '"id":2', '"live"', '"id":3', '"live"'])
  })

  it('accept a chunked body, and reject thousands of one-byte chunks with 400', async () => {
    const start = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n'
    const chunked = (text: string, more = '') =>
      `${start}${more}\r\n${[...text].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`
    const text = await send(chunked(call(1)), chunked(call(2), last))
    expect(text.match(/"id":\d,"result":"0x7a69"/g)).toHaveLength(2)
    const { socket, closed, received } = open()
    socket.write(`${start}\r\n`)
    const more = setInterval(() => socket.write('1\r\nx\r\n'.repeat(500)), 10)
    await closed
    clearInterval(more)
    expect(received()).toMatch(/^HTTP\/1\.1 400 .*"the body arrives in too many small chunks"/s)
  })

  it('are closed soon after a 413 while the body still arrives', async () => {
    const { socket, closed, received } = open()
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: 1000000000\r\n\r\n')
    const more = setInterval(() => socket.write('x'.repeat(10_000)), 10)
    await closed
    clearInterval(more)
    expect(statuses(received())).toEqual([413])
  })

  it('answer 408 to a body that does not arrive in time and stop reading it', async () => {
    const hasty = await startGatewayProcess({ UPSTREAM_RPC_URL: anvil.rpcUrl }, { bodyMs: 200 })
    try {
      const { socket, closed, received } = open(hasty.url)
      socket.write(
        'POST /ethereum HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9999999\r\n\r\n',
      )
      const more = setInterval(() => socket.write('x'.repeat(100)), 10)
      await closed
      clearInterval(more)
      expect(statuses(received())).toEqual([408])
      expect(await hasty.metric('upfront_held_bytes')).toBeLessThan(100_000)
    } finally {
      await hasty.stop()
    }
  })

  it('serve a request that is split at any point', async () => {
    const [request, second] = [post(call(1), last), post(call(2))]
    const cuts = [
      1,
      20,
      request.indexOf('\r\n\r\n') + 2,
      request.indexOf('{'),
      request.indexOf('{') + 1,
      request.length - 1,
    ]
    const texts = await Promise.all(cuts.map((cut) => send(second + request.slice(0, cut), request.slice(cut))))
    for (const text of texts) expect(text.match(/"id":\d/g)).toEqual(['"id":2', '"id":1'])
  })

  it.each<[string, number[], string]>([
    ['two lengths', [400], post(call(1), 'content-length: 5\r\n')],
    ['a length and chunks', [400], post(call(1), 'transfer-encoding: chunked\r\n')],
    ['no host', [400], post(call(1)).replace('host: a\r\n', '')],
    // Node 20.19's own parser accepts it.
    [
      'a name with a space',
      [Number.parseInt(process.versions.llhttp!, 10) < 9 ? 200 : 400],
      post(call(1), `a : b\r\n${last}`),
    ],
    ['a zero byte', [400], post(call(1), 'a: \0\r\n')],
    ['no HTTP', [400], 'hello\r\n\r\n'],
    ['headers without end', [431], post(call(1), `a: ${'b'.repeat(20_000)}\r\n`)],
    [
      'chunks',
      [200],
      `${post('', `transfer-encoding: chunked\r\n${last}`).replace('content-length: 0\r\n', '')}${call(1).length.toString(16)}\r\n${call(1)}\r\n0\r\n\r\n`,
    ],
    ['HTTP/1.0', [200], post(call(1)).replace('HTTP/1.1', 'HTTP/1.0')],
    ['one that waits to be asked on', [100, 200], post(call(1), `expect: 100-continue\r\n${last}`)],
    ['a length of nothing', [200], post('', last)],
  ])("hand %s to Node's HTTP server", async (_, expected, request) => {
    expect(statuses(await send(request))).toEqual(expected)
    expect(statuses(await send(post(call(2)) + request))).toEqual([200, ...expected])
  })

  it('are not read further if the client does not read its answers', async () => {
    const { socket, received, closed } = open()
    socket.pause()
    const calls = Array.from({ length: 300 }, () => ({ to: `0x${'b0'.repeat(20)}` }))
    const simulation = (id: number, more = '') => post(call(id, [{ blockStateCalls: [{ calls }] }, 'latest']), more)
    const count = 400
    for (let id = 0; id < count; id++) socket.write(simulation(id, id === count - 1 ? last : ''))
    const served = () => gateway.metric('upfront_rpc_calls_total{method="eth_simulateV1",outcome="ok"}')
    let [before, now] = [-1, await served()]
    while (now === 0 || now !== before) {
      await new Promise((resolve) => setTimeout(resolve, 500))
      ;[before, now] = [now, await served()]
    }
    expect(now).toBeGreaterThan(0)
    expect(now).toBeLessThan(count)
    socket.resume()
    expect((await closed).match(/"id":\d+/g)).toEqual(Array.from({ length: count }, (_, id) => `"id":${id}`))
    expect(received()).not.toContain('"error"')
  })
})
