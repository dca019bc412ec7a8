import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { type Anvil, startAnvil } from '@upfront/devnet'
import fc from 'fast-check'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'
import { callOf, TARGET } from './simulate-params.js'

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

/** Every answer to any body must be HTTP without a 5xx other than 503, and JSON-RPC 2.0 or empty. */
async function expectSane(body: string): Promise<unknown> {
  const response = await gateway.post(body)
  expect(response.status === 503 || response.status < 500).toBe(true)
  const text = await response.text()
  if (response.status === 204) {
    expect(text).toBe('')
    return undefined
  }
  const answer: unknown = JSON.parse(text)
  for (const entry of Array.isArray(answer) ? answer : [answer]) expectJsonRpc(entry)
  return answer
}

function expectJsonRpc(entry: Record<string, unknown>): void {
  expect(entry.jsonrpc).toBe('2.0')
  expect(entry).toHaveProperty('id')
  expect('result' in entry).toBe(!('error' in entry))
  if ('error' in entry) expect(entry.error).toMatchObject({ code: expect.any(Number), message: expect.any(String) })
}

const body = (params: unknown, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_simulateV1', params })

/** Fields of a request, each with a valid or any other value. */
const hex = fc.stringMatching(/^0x[0-9a-f]{0,70}$/)
const anything = fc.oneof(
  { weight: 3, arbitrary: hex },
  { weight: 1, arbitrary: fc.jsonValue() as fc.Arbitrary<unknown> },
  {
    weight: 1,
    arbitrary: fc.constantFrom(null, '', '0x', '0x0', '0xg', -1, Number.MAX_VALUE, 'latest', '\ud800', {}, []),
  },
)
const address = fc.constantFrom(TARGET, '0x0000000000000000000000000000000000000001', '0x', '0xzz', null)
const some = (fields: string[], value: fc.Arbitrary<unknown> = anything) =>
  fc.dictionary(fc.constantFrom(...fields, '__proto__', 'constructor', 'x'), value, { maxKeys: 5 })
const callFields = [
  'from',
  'to',
  'gas',
  'value',
  'nonce',
  'data',
  'input',
  'gasPrice',
  'maxFeePerGas',
  'accessList',
  'type',
]
const overrideFields = ['balance', 'nonce', 'code', 'state', 'stateDiff', 'storage', 'movePrecompileToAddress']
const blockFields = [
  'number',
  'time',
  'timestamp',
  'gasLimit',
  'feeRecipient',
  'baseFeePerGas',
  'withdrawals',
  'beaconRoot',
]
const block = fc.record(
  {
    calls: fc.array(fc.oneof(some(callFields), anything), { maxLength: 3 }),
    stateOverrides: fc.dictionary(address.map(String), fc.oneof(some(overrideFields), anything), { maxKeys: 3 }),
    blockOverrides: fc.oneof(some(blockFields), anything),
  },
  { requiredKeys: [] },
)
const payload = fc.record(
  {
    blockStateCalls: fc.oneof({ weight: 5, arbitrary: fc.array(block, { maxLength: 3 }) }, anything),
    validation: fc.oneof(fc.boolean(), anything),
    traceTransfers: fc.oneof(fc.boolean(), anything),
    returnFullTransactions: fc.oneof(fc.boolean(), anything),
  },
  { requiredKeys: ['blockStateCalls'] },
)
const blockParameter = fc.oneof(fc.constantFrom('latest', 'pending', 'earliest', '0x0', '0x7fffffff'), anything)

describe('is answered with valid JSON-RPC', () => {
  it('any JSON', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), async (text) => void (await expectSane(text))),
      { numRuns: 150 },
    )
  })

  it('any text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), async (text) => void (await expectSane(text))),
      { numRuns: 100 },
    )
  })

  it('any params of any method', async () => {
    const methods = fc.constantFrom(
      'eth_simulateV1',
      'eth_call',
      'eth_getBalance',
      'eth_chainId',
      'rpc.discover',
      'eth_getLogs',
    )
    const property = fc.asyncProperty(methods, fc.jsonValue(), async (method, params) => {
      await expectSane(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    })
    await fc.assert(property, { numRuns: 150 })
  })

  it('input close to a simulation', async () => {
    const property = fc.asyncProperty(payload, blockParameter, async (first, second) => {
      await expectSane(body([first, second]))
    })
    await fc.assert(property, { numRuns: 400 })
  })

  it('batches of any entries', async () => {
    const entry = fc.oneof(
      fc.jsonValue(),
      payload.map((first) => JSON.parse(body([first, 'latest']))),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { maxLength: 5 }),
        async (batch) => void (await expectSane(JSON.stringify(batch))),
      ),
      {
        numRuns: 80,
      },
    )
  })
})

describe('hostile input', () => {
  const valid = callOf('0x00')
  it.each([
    ['deep arrays', `${'['.repeat(500_000)}${']'.repeat(500_000)}`],
    ['deep objects', `${'{"a":'.repeat(300_000)}1${'}'.repeat(300_000)}`],
    ['unclosed arrays', '['.repeat(5_000_000)],
    ['ten million empty objects', `[${'{},'.repeat(9_999_999)}{}]`],
    ['millions of distinct keys', `{${Array.from({ length: 1_500_000 }, (_, key) => `"${key}":1`).join()}}`],
    ['a number of a million digits', body([{ blockStateCalls: [] }, 'latest']).replace('[]', '9'.repeat(1_000_000))],
    ['an id of a million digits', body(valid).replace('"id":1', `"id":${'9'.repeat(1_000_000)}`)],
    ['a quantity of a million digits', body(callOf('0x00', { value: `0x${'f'.repeat(1_000_000)}` }))],
    ['a method name of megabytes', JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x'.repeat(5_000_000) })],
    ['lone surrogates', body(callOf('0x00', { from: '\ud800'.repeat(1_000) }), '\udfff')],
    ['backslashes', `"${'\\"'.repeat(2_000_000)}"`],
  ])('gets a short JSON-RPC error: %s', async (_, text) => {
    const answer = (await expectSane(text)) as { error: { message: string } }
    expect(answer).toHaveProperty('error')
    expect(answer.error.message.length).toBeLessThan(1_000)
  })

  it('with __proto__ keys is simulated like other unknown fields', async () => {
    const text = `{"jsonrpc":"2.0","id":1,"method":"eth_simulateV1","__proto__":{"x":1},"params":[{"__proto__":{"validation":7},"blockStateCalls":[{"__proto__":{"calls":7}}]},"latest"]}`
    expect(await expectSane(text)).toMatchObject({ result: [{ calls: [] }] })
    expect(({} as Record<string, unknown>).x).toBeUndefined()
  })

  it('with megabytes of code, call data and overrides is simulated', async () => {
    const zeros = `0x${'00'.repeat(500_000)}`
    expect(await expectSane(body(callOf(`0x${'5b'.repeat(4_000_000)}`)))).toHaveProperty('result')
    expect(await expectSane(body(callOf('0x00', { input: zeros })))).toHaveProperty('result')
    const word = (n: number) => `0x${n.toString(16).padStart(64, '0')}`
    const stateDiff = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [word(n), word(n + 1)]))
    const blockStateCalls = [{ stateOverrides: { [TARGET]: { stateDiff } }, calls: [{ to: TARGET }] }]
    expect(await expectSane(body([{ blockStateCalls }, 'latest']))).toHaveProperty('result')
  })

  it('in a gzip bomb gets 415 and is not inflated', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000, '['))
    const response = await fetch(gateway.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: bomb,
    })
    expect(response.status).toBe(415)
  })

  it.each([
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['headers without end', `GET / HTTP/1.1\r\nx: ${'y'.repeat(100_000)}`, 431],
    ['two lengths', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 400],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
  ])('gets an HTTP error with a JSON-RPC body: %s', async (_, bytes, status) => {
    const { hostname, port } = new URL(gateway.url)
    const socket = connect(Number(port), hostname)
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', () => undefined)
    socket.write(bytes)
    await new Promise((resolve) => socket.once('close', resolve))
    expect(answer).toContain(`HTTP/1.1 ${status} `)
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ jsonrpc: '2.0', id: null })
  })

  it('leaves no internal error and memory below 1.5 GB', async () => {
    expect(gateway.output()).not.toContain('internal error')
    expect(await gateway.metric('process_resident_memory_bytes')).toBeLessThan(1_500_000_000)
    expect((await gateway.call('eth_simulateV1', valid)).error).toBeUndefined()
  })
})
