import { type Anvil, startAnvil } from '@upfront/devnet'
import { type GatewayProcess, startGateway } from './gateway-process.js'

let anvil: Anvil
let gateway: GatewayProcess

beforeAll(async () => {
  anvil = await startAnvil(['--port', '0'])
  gateway = await startGateway({ UPSTREAM_RPC_URL: anvil.rpcUrl, LIMITS: { batchLength: 5 } })
})
afterAll(async () => {
  await gateway?.stop()
  await anvil?.stop()
})

const request = (id: unknown, method = 'eth_chainId', params: unknown = []) => ({ jsonrpc: '2.0', id, method, params })
const post = async (body: unknown) => {
  const response = await gateway.post(typeof body === 'string' ? body : JSON.stringify(body))
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}
const refusal = (code: number, id: unknown = null) => ({
  jsonrpc: '2.0',
  id,
  error: expect.objectContaining({ code, message: expect.any(String) }),
})

describe('JSON-RPC 2.0', () => {
  it.each([1, 'a', null, 0, -1, 1.5, '\ud800', ''])('echoes the id %j', async (id) => {
    expect((await post(request(id))).body).toEqual({ jsonrpc: '2.0', id, result: '0x7a69' })
  })

  it('answers with the JSON content type', async () => {
    expect((await post(request(1))).headers.get('content-type')).toBe('application/json; charset=utf-8')
  })

  it.each([
    ['{"jsonrpc":"2.0","id":1', -32700],
    ['', -32700],
    ['[]', -32600],
    ['1', -32600],
    ['null', -32600],
    ['{"jsonrpc":"1.0","id":null,"method":"eth_chainId"}', -32600],
    ['{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}', -32600],
    ['{"jsonrpc":"2.0","id":null}', -32600],
    [JSON.stringify(Array(6).fill(request(1))), -32005],
  ])('rejects %s with %i', async (body, code) => {
    const answer = await post(body)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual(refusal(code))
  })

  it('answers a batch in order, each entry separately', async () => {
    const answer = await post([request(1), 5, request('b', 'eth_nothing'), request(3, 'web3_clientVersion')])
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual([
      { jsonrpc: '2.0', id: 1, result: '0x7a69' },
      refusal(-32600),
      refusal(-32601, 'b'),
      { jsonrpc: '2.0', id: 3, result: expect.stringMatching(/^upfront\/\d+\.\d+\.\d+\/revm-/) },
    ])
  })

  it('does not answer notifications', async () => {
    const notification = { jsonrpc: '2.0', method: 'eth_chainId' }
    expect(await post(notification)).toMatchObject({ status: 204, body: undefined })
    expect(await post([notification, notification])).toMatchObject({ status: 204, body: undefined })
    expect((await post([notification, request(1)])).body).toEqual([{ jsonrpc: '2.0', id: 1, result: '0x7a69' }])
  })

  it('lists in rpc.discover the methods that it serves', async () => {
    const { result } = await gateway.call<{ openrpc: string; methods: { name: string }[] }>('rpc.discover')
    const names = result?.methods.map(({ name }) => name) ?? []
    expect(result?.openrpc).toMatch(/^1\./)
    expect(names).toEqual(expect.arrayContaining(['eth_simulateV1', 'eth_chainId', 'rpc.discover', 'eth_call']))
    expect(names).toEqual(expect.arrayContaining(['eth_newFilter', 'eth_getFilterChanges', 'upfront_subscribe']))
    expect(names).not.toContain('eth_newPendingTransactionFilter')
    for (const name of names) {
      const { error } = await gateway.call(name)
      // Subscriptions are served over WebSocket only.
      if (/_subscribe$/.test(name)) expect(error?.message).toMatch(/WebSocket/)
      else expect(error?.code).not.toBe(-32601)
    }
  })

  it('describes in rpc.discover every field of a simulated block, its calls and logs', async () => {
    type Schemas = Record<string, { properties: object }>
    const { result } = await gateway.call<{ components: { schemas: Schemas } }>('rpc.discover')
    const calls = [{ from: '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', value: '0x1' }, { input: '0x60006000fd' }]
    const payload = { blockStateCalls: [{ calls }], traceTransfers: true }
    const { result: blocks } = await gateway.call<{ calls: { logs: object[] }[] }[]>('eth_simulateV1', [payload])
    const undescribed = (name: string, shown: object[]) => {
      expect(shown).not.toEqual([])
      const { properties } = result!.components.schemas[name]!
      return shown.flatMap(Object.keys).filter((field) => !Object.hasOwn(properties, field))
    }
    const simulated = blocks!.flatMap((block) => block.calls)
    expect(undescribed('SimulatedBlock', blocks!)).toEqual([])
    expect(undescribed('SimulatedCall', simulated)).toEqual([])
    expect(
      undescribed(
        'SimulatedLog',
        simulated.flatMap(({ logs }) => logs),
      ),
    ).toEqual([])
  })

  it('forwards read-only methods and rejects all others with -32601', async () => {
    const [account] = ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266']
    expect(await gateway.call('eth_getBalance', [account, 'latest'])).toMatchObject({ result: '0x21e19e0c9bab2400000' })
    expect(await gateway.call('eth_blockNumber')).toMatchObject({ result: '0x0' })
    expect((await gateway.call('eth_getBlockByNumber', ['0x99', false])).result).toBeNull()
    expect(await gateway.call('eth_getBlockTransactionCountByNumber', ['latest'])).toMatchObject({ result: '0x0' })
    expect((await gateway.call('eth_getTransactionByBlockNumberAndIndex', ['latest', '0x0'])).result).toBeNull()
    expect(await gateway.call('net_listening')).toMatchObject({ result: true })
    for (const method of ['eth_sendRawTransaction', 'anvil_setBalance', '__proto__', 'constructor', 'toString', '']) {
      expect((await gateway.call(method)).error?.code).toBe(-32601)
    }
  })

  it("returns the node's own error", async () => {
    const answer = await gateway.call('eth_getBalance', ['0x12', 'latest'])
    expect(answer.error).toMatchObject({ code: -32602 })
  })
})

describe('HTTP', () => {
  it.each(['GET', 'PUT', 'DELETE', 'PATCH'])('answers 405 with Allow: POST to %s /', async (method) => {
    const response = await fetch(gateway.url, { method })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('POST')
    expect(await response.json()).toEqual(refusal(-32600))
  })

  it('answers 404 to an unknown path', async () => {
    const response = await fetch(`${gateway.url}/nothing`)
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual(refusal(-32600))
  })

  it.each(['/%', '/console/%zz', '/v1/payments/%ff'])('answers 400 to the malformed URL %s', async (path) => {
    const response = await fetch(`${gateway.url}${path}`)
    expect([response.status, await response.json()]).toEqual([400, refusal(-32600)])
    expect(response.headers.get('x-request-id')).toMatch(/^[\w.:-]+$/)
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
    'rejects the content type %s with 415',
    async (type) => {
      const response = await gateway.post(JSON.stringify(request(1)), { 'content-type': type })
      expect(response.status).toBe(415)
      expect(await response.json()).toEqual(refusal(-32600))
    },
  )

  it.each(['application/json; charset=utf-8', 'application/json-rpc'])('accepts the content type %s', async (type) => {
    const response = await gateway.post(JSON.stringify(request(1)), { 'content-type': type })
    expect(response.status).toBe(200)
  })

  it('rejects an unknown dialect with 400', async () => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify(request(1))
    const response = await fetch(`${gateway.url}?dialect=klingon`, { method: 'POST', headers, body })
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual(refusal(-32600))
  })

  it.each([
    ['caller-1.2_3:4', true],
    ['a'.repeat(65), false],
    ['spa ce', false],
    ['{"$ne":1}', false],
  ])('echoes the request id %s only if it is safe', async (id, echoed) => {
    const response = await gateway.post(JSON.stringify(request(1)), { 'x-request-id': id })
    const given = response.headers.get('x-request-id')
    expect(given).toMatch(/^[A-Za-z0-9._:-]{1,64}$/)
    expect(given === id).toBe(echoed)
  })
})
