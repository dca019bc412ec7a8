import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Head } from './head.js'
import { Node } from './node.js'
import { NodeFault } from './node-error.js'

interface Call {
  id: number
  method: string
}

/** A node that has lost its blocks: it answers eth_chainId, and null to everything else. */
const server = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  const answer = ({ id, method }: Call) => ({ jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x1' : null })
  const body: Call | Call[] = JSON.parse(text)
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(Array.isArray(body) ? body.map(answer) : answer(body)))
})
let node: Node

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  node = new Node(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 1, 1_000)
})
afterAll(async () => {
  await node.close()
  server.close()
})

describe('a null result from the node', () => {
  it.each([
    ['eth_getBalance', ['0x', 'latest']],
    ['eth_call', [{}, 'latest']],
    ['eth_getLogs', [{}]],
    ['eth_maxPriorityFeePerGas', []],
    ['eth_getBlockByNumber', ['latest', false]],
  ])('is a NodeFault for %s %j', async (method, params) => {
    await expect(node.request(method, params)).rejects.toThrow(NodeFault)
  })

  it.each([
    ['eth_getTransactionReceipt', ['0x']],
    ['eth_getTransactionByHash', ['0x']],
    ['eth_getBlockReceipts', ['0x']],
    ['eth_getBlockByNumber', ['0x9', false]],
    ['eth_getBlockByNumber', ['finalized', false]],
  ])('is a valid answer to %s %j', async (method, params) => {
    expect(await node.request(method, params)).toBeNull()
  })

  it('is a NodeFault for the newest block', async () => {
    await expect(new Head(node).current()).rejects.toThrow(NodeFault)
  })
})
