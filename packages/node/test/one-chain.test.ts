import { getEventListeners, once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeQuantity } from '../src/decode-result.js'
import type { UpstreamCall } from '../src/upstream-call.js'
import { UpstreamClient } from '../src/upstream-client.js'

interface RpcCall {
  id: number
  method: string
}

/** The node's answer to a call, and the methods of each HTTP request that it received. */
let answer: (call: RpcCall, authorization: string | undefined) => object
let asked: string[][]
let server: Server
let host: string
const opened: UpstreamClient[] = []

beforeEach(async () => {
  asked = []
  answer = ({ method }) => ({ result: method === 'eth_chainId' ? '0x7' : '0x1' })
  server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const body = JSON.parse(text) as RpcCall | RpcCall[]
    asked.push([body].flat().map(({ method }) => method))
    const each = (call: RpcCall) => ({ jsonrpc: '2.0', id: call.id, ...answer(call, request.headers.authorization) })
    response.end(JSON.stringify(Array.isArray(body) ? body.map(each) : each(body)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((client) => client.close()))
  server.closeAllConnections()
  server.close()
})

function open(chainId?: number, url = `http://${host}`) {
  const client = new UpstreamClient({ urls: [url], ...(chainId === undefined ? {} : { chainId }) })
  opened.push(client)
  return client
}

const call = (more: Partial<UpstreamCall<bigint>> = {}): UpstreamCall<bigint> => ({
  method: 'eth_blockNumber',
  params: [],
  decode: decodeQuantity,
  maxBytes: 100,
  ...more,
})

describe('UpstreamClient with a chain id', () => {
  it('asks for the chain id in every HTTP request', async () => {
    const client = open(7)
    expect(await client.call(call())).toBe(1n)
    expect(await client.batch([call(), call()])).toEqual([{ value: 1n }, { value: 1n }])
    expect(asked).toEqual([
      ['eth_chainId', 'eth_blockNumber'],
      ['eth_chainId', 'eth_blockNumber', 'eth_blockNumber'],
    ])
  })

  it('rejects the answers of another chain, and does not retry', async () => {
    const wrong = { fault: { kind: 'wrong-chain', detail: { chainId: 7n } } }
    const client = open(8)
    expect(await client.batch([call(), call()])).toMatchObject([{ error: wrong }, { error: wrong }])
    expect(asked).toHaveLength(1)
    await expect(client.call(call({ pace: 'slow' }))).rejects.toMatchObject(wrong)
    expect(asked.slice(1)).toEqual([['eth_chainId']])
  })

  it('sends a slow call on its own, and checks the chain id before it only after a while or a fault', async () => {
    const client = open(7)
    const slow = call({ pace: 'slow', attempts: 1 })
    for (let time = 0; time < 3; time += 1) await client.call(slow)
    expect(asked).toEqual([['eth_chainId'], ['eth_blockNumber'], ['eth_blockNumber'], ['eth_blockNumber']])
    answer = () => ({})
    await expect(client.batch([call({ attempts: 1 })])).resolves.toMatchObject([
      { error: { fault: { kind: 'malformed' } } },
    ])
    answer = ({ method }) => ({ result: method === 'eth_chainId' ? '0x8' : '0x1' })
    await expect(client.call(slow)).rejects.toMatchObject({ fault: { kind: 'wrong-chain' } })
  })

  it('does not ask for the chain id if none is given', async () => {
    expect(await open().call(call())).toBe(1n)
    expect(asked).toEqual([['eth_blockNumber']])
  })

  it('leaves no listener on a signal after 1,000 requests', async () => {
    const client = open()
    const { signal } = new AbortController()
    for (let round = 0; round < 20; round += 1)
      await Promise.all(Array.from({ length: 50 }, () => client.call(call(), { signal })))
    expect(asked).toHaveLength(1_000)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it.each([
    ['error', (words: string) => ({ error: { code: -32000, message: words, data: words } })],
    ['result of another shape', (words: string) => ({ result: words })],
  ])('shows no part of the URL that the node returns in an %s', async (_name, answerWith) => {
    const client = open(undefined, `http://us%20er:pw@${host}/v3/k3y?token=t0&bare`)
    answer = (_, authorization) => answerWith(`${authorization} /v3/K3Y token%3Dt0 bare pw ${authorization?.slice(6)}`)
    const errors = await client.batch([call({ attempts: 1 }), call({ attempts: 1, isShown: true, decode: () => 0n })])
    for (const outcome of errors) {
      if (!('error' in outcome)) throw new Error('no error')
      const { error } = outcome
      const told = JSON.stringify([error, String(error), error.message, error.data, error.fault.message])
      expect(told).toContain(host)
      expect(told).not.toMatch(/k3y|t0|bare|us er|pw|Basic|dXMg/i)
    }
  })
})
