import { connect } from 'node:net'
import { type Anvil, startAnvil } from '@upfront/devnet'
import { type GatewayProcess, startGateway } from './gateway-process.js'

// `POST /` is answered before Fastify, `POST /?` by Fastify: clients must not see a difference.
let anvil: Anvil
let gateway: GatewayProcess
let forWallets: GatewayProcess
let limited: GatewayProcess

beforeAll(async () => {
  anvil = await startAnvil(['--port', '0'])
  gateway = await startGateway({ UPSTREAM_RPC_URL: anvil.rpcUrl })
  forWallets = await startGateway({ UPSTREAM_RPC_URL: anvil.rpcUrl, CORS_ORIGINS: 'https://wallet.example' })
  limited = await startGateway({ UPSTREAM_RPC_URL: anvil.rpcUrl, LIMITS: { callsPerSecond: 2, inFlight: 1 } })
})
afterAll(async () => {
  await gateway?.stop()
  await forWallets?.stop()
  await limited?.stop()
  await anvil?.stop()
})

interface Answer {
  status: number
  headers: Record<string, string>
  body: string
}

/** Sends one request as written, on its own connection. */
function exchange(url: string, head: string, ...pieces: string[]): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    let text = ''
    socket.setEncoding('utf8').on('data', (data) => {
      text += data
    })
    socket.on('error', reject).on('close', () => {
      const [headers = '', body = ''] = text.split(/\r\n\r\n(.*)/s)
      const [status = '', ...lines] = headers.split('\r\n')
      const pairs = lines.map(
        (line) =>
          line
            .toLowerCase()
            .split(/: (.*)/s)
            .slice(0, 2) as [string, string],
      )
      resolve({ status: Number(status.split(' ')[1]), headers: Object.fromEntries(pairs), body })
    })
    socket.write(`${head}host: ${hostname}\r\nconnection: close\r\n\r\n`)
    const next = () => {
      const piece = pieces.shift()
      if (piece === undefined) return
      socket.write(piece)
      setTimeout(next, 20)
    }
    next()
  })
}

const post = (path: string, body: string, headers = 'content-type: application/json\r\n', url = gateway.url) =>
  exchange(
    url,
    `POST ${path} HTTP/1.1\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\nx-request-id: same\r\n`,
    body,
  )

const comparable = ({ status, headers, body }: Answer) => {
  const { date: _, ...rest } = headers
  return { status, headers: rest, body }
}

const simulation = (id: unknown, call: object) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'eth_simulateV1',
    params: [{ blockStateCalls: [{ calls: [call] }] }, 'latest'],
  })

/** Loops until its gas is used up. */
const FAILING = { input: '0x5b5f56', gas: '0x186a0' }

/** This many calls that succeed, and one that fails. */
const many = (calls: number) => {
  return JSON.stringify({
    jsonrpc: '2.0',
    id: 'ä',
    method: 'eth_simulateV1',
    params: [
      { blockStateCalls: [{ calls: [...Array(calls).fill({ to: `0x${'b0'.repeat(20)}` }), FAILING] }] },
      'latest',
    ],
  })
}

const BODIES: [string, string][] = [
  ['a simulation', simulation(1, {})],
  ['one that fails', simulation(1, FAILING)],
  ['one that is refused', simulation(1, { gas: 'lots' })],
  ['long answers', many(200)],
  ['longer ones', many(1_300)],
  ['an id beyond ASCII', simulation('ä€𝄞', {})],
  ['half a surrogate', simulation('\ud800', {})],
  ['a batch', `[${simulation(1, {})},${simulation(2, {})}]`],
  ['a notification', '{"jsonrpc":"2.0","method":"eth_chainId"}'],
  ['an unknown method', '{"jsonrpc":"2.0","id":1,"method":"eth_nothing"}'],
  ['what is no JSON', '{"jsonrpc"'],
  ['bytes that are no UTF-8', '"\udfff"'],
  ['spaces', '   '],
  ['nothing', ''],
]

describe('POST /', () => {
  it.each(BODIES)('answers %s as Fastify does', async (_, body) => {
    const [plain, fastify] = [await post('/', body), await post('/?', body)]
    expect(plain.status).toBeLessThan(500)
    expect(comparable(plain)).toEqual(comparable(fastify))
  })

  it.each([
    [200, 20_000, 100_000],
    [1_300, 150_000, 1_000_000],
  ])('answers %i calls, one of them failed, with %i to %i characters', async (calls, least, most) => {
    const { body } = await post('/', many(calls))
    expect(body.length).toBeGreaterThan(least)
    expect(body.length).toBeLessThan(most)
    const { id, result } = JSON.parse(body)
    expect([id, result[0].calls.length, result[0].calls[calls].error]).toEqual(['ä', calls + 1, 'out of gas'])
  })

  it.each([
    ['application/json; charset=utf-8', 200],
    ['Application/JSON', 200],
    ['application/json;charset=UTF-8', 200],
    ['application/json-rpc', 200],
    ['application/json; charset=latin1', 200],
    ['application/jsonx', 415],
    ['text/plain', 415],
  ])('treats the content type %s as Fastify does', async (type, status) => {
    const headers = `content-type: ${type}\r\n`
    const [plain, fastify] = [await post('/', simulation(1, {}), headers), await post('/?', simulation(1, {}), headers)]
    expect(plain.status).toBe(status)
    expect(comparable(plain)).toEqual(comparable(fastify))
  })

  it('accepts a body that arrives in pieces', async () => {
    const body = simulation('€', {})
    const length = Buffer.byteLength(body)
    const head = (path: string) =>
      `POST ${path} HTTP/1.1\r\ncontent-type: application/json\r\nx-request-id: same\r\ncontent-length: ${length}\r\n`
    const pieces = [body.slice(0, 1), body.slice(1, 30), body.slice(30)]
    const plain = await exchange(gateway.url, head('/'), ...pieces)
    expect(plain).toMatchObject({ status: 200, body: expect.stringContaining('"id":"€"') })
    expect(comparable(plain)).toEqual(comparable(await exchange(gateway.url, head('/?'), ...pieces)))
  })

  it('leaves requests with an Origin to Fastify, which handles CORS', async () => {
    const headers = 'content-type: application/json\r\norigin: https://wallet.example\r\n'
    const { headers: answered } = await post('/', simulation(1, {}), headers, forWallets.url)
    expect(answered['access-control-allow-origin']).toBe('https://wallet.example')
    expect(answered['access-control-expose-headers']).toContain('x-request-id')
  })

  it('answers consecutive requests on a connection, and pipelined ones in order', async () => {
    const one = (id: number, last = '') => {
      const body = simulation(id, {})
      return `POST / HTTP/1.1\r\nhost: a\r\n${last}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    }
    const { hostname, port } = new URL(gateway.url)
    const text = await new Promise<string>((resolve) => {
      let text = ''
      connect(Number(port), hostname)
        .setEncoding('utf8')
        .on('data', (data) => {
          text += data
        })
        .on('close', () => resolve(text))
        .write(one(1) + one(2) + one(3, 'connection: close\r\n'))
    })
    expect(text.match(/"id":\d/g)).toEqual(['"id":1', '"id":2', '"id":3'])
  })

  it('applies one rate limit to both ways', async () => {
    const ask = (path: string) => post(path, simulation(1, {}), 'content-type: application/json\r\n', limited.url)
    const refused = async () => {
      const answers = await Promise.all(['/', '/?', '/', '/?', '/', '/?'].map(ask))
      return ['/', '/?'].map((_, way) => answers.find(({ status }, index) => status === 429 && index % 2 === way))
    }
    let [plain, fastify] = await refused()
    while (!plain || !fastify) [plain, fastify] = await refused()
    expect(comparable(plain)).toEqual(comparable(fastify))
    expect(plain.headers['retry-after']).toBe('1')
    // Requests by one way use up the limit of the other.
    let other = await ask('/?')
    while (other.status !== 429) [, other] = await Promise.all([ask('/'), ask('/?'), ask('/')])
  })
})
