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

/** Results by method. */
const results = new Map<string, unknown>([['eth_chainId', '0x1']])

/** A node that has lost its blocks: without a result it answers null. */
const server = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  const answer = ({ id, method }: Call) => ({ jsonrpc: '2.0', id, result: results.get(method) ?? null })
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

const WORD = `0x${'ab'.repeat(32)}`
const ACCOUNT = `0x${'cd'.repeat(20)}`
const LOG = {
  ...{ address: ACCOUNT, data: '0x', topics: [WORD], logIndex: '0x0' },
  ...{ transactionHash: WORD, blockNumber: '0x1' },
}
const RECEIPT = {
  ...{ transactionHash: WORD, blockHash: WORD, blockNumber: '0x1', from: ACCOUNT, to: null, logs: [LOG] },
  ...{ status: '0x1', gasUsed: '0x5208', effectiveGasPrice: '0x1' },
}
const TRANSACTION = { hash: WORD, to: ACCOUNT, input: '0x' }
const BLOCK = { number: '0x1', hash: WORD, parentHash: WORD, timestamp: '0x2', transactions: [TRANSACTION] }

describe('a result of another shape than the method has', () => {
  it.each<[string, unknown, unknown[]]>([
    ['eth_call', '0x', [7, 'x', '0xabc', {}]],
    ['eth_getBalance', '0x0', ['0x', 5, '-0x1', `0x1${'0'.repeat(64)}`]],
    ['eth_getTransactionCount', '0x9', ['x', '0xffffffffffffffff']],
    ['eth_getLogs', [LOG], [{}, [null], [{ ...LOG, topics: 'all' }], [{ ...LOG, logIndex: undefined }]]],
    ['eth_getBlockByNumber', BLOCK, ['0x1', { ...BLOCK, hash: '0x1' }, { ...BLOCK, transactions: [{}] }]],
    ['eth_getBlockByNumber', { ...BLOCK, transactions: [WORD] }, [{ ...BLOCK, timestamp: 'now' }]],
    ['eth_getTransactionReceipt', RECEIPT, [[], { ...RECEIPT, status: undefined }, { ...RECEIPT, logs: [{}] }]],
    ['eth_getBlockReceipts', [RECEIPT, null], [RECEIPT, ['x'], [{ ...RECEIPT, from: null }]]],
    ['eth_getTransactionByHash', TRANSACTION, ['0x', { ...TRANSACTION, input: 5 }]],
  ])('is a NodeFault for %s', async (method, right, wrong) => {
    results.set(method, right)
    expect(await node.request(method, ['0x1'])).toEqual(right)
    for (const result of wrong) {
      results.set(method, result)
      await expect(node.request(method, ['0x1'])).rejects.toThrow(NodeFault)
    }
    results.delete(method)
  })
})
