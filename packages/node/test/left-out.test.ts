import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeQuantity } from '../src/decode-result.js'
import type { UpstreamCall } from '../src/upstream-call.js'
import { UpstreamClient } from '../src/upstream-client.js'

/** A node that answers HTTP 503 while it is down. */
class Node {
  readonly asked: string[] = []
  isDown = false
  readonly server: Server

  constructor(private readonly result: string) {
    this.server = createServer(async (request, response) => {
      let text = ''
      for await (const chunk of request) text += chunk
      const { id, method } = JSON.parse(text) as { id: number; method: string }
      this.asked.push(method)
      if (this.isDown) response.statusCode = 503
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x1' : this.result }))
    }).listen(0, '127.0.0.1')
  }

  async url(): Promise<string> {
    await once(this.server, 'listening')
    return `http://user:secret@127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }
}

const call: UpstreamCall<bigint> = { method: 'eth_gasPrice', params: [], decode: decodeQuantity, maxBytes: 100 }

let nodes: [Node, Node]
let client: UpstreamClient
let states: [string, string][]

beforeEach(async () => {
  nodes = [new Node('0xa'), new Node('0xb')]
  states = []
  client = new UpstreamClient({
    urls: await Promise.all(nodes.map((node) => node.url())),
    observer: { onCircuit: ({ upstream, state }) => states.push([upstream, state]) },
  })
})
afterEach(async () => {
  await client.close()
  for (const { server } of nodes) {
    server.closeAllConnections()
    server.close()
  }
})

it('excludes a failed node, probes it with our own call, and uses it again once the probe succeeds', async () => {
  expect(await client.call(call)).toBe(0xan)
  nodes[0].isDown = true
  expect(await client.call(call)).toBe(0xbn)
  nodes[0].asked.length = 0
  while (nodes[0].asked.length === 0) {
    expect(await client.call(call)).toBe(0xbn)
    await sleep(50)
  }
  // No user's call was spent on the probe.
  expect(nodes[0].asked).toEqual(['eth_chainId'])
  nodes[0].isDown = false
  while ((await client.call(call)) === 0xbn) await sleep(50)
  expect(nodes[0].asked).toEqual(['eth_chainId', 'eth_chainId', 'eth_gasPrice'])
  const { label } = client.endpoints[0]!
  const kinds = ['open', 'half-open', 'open', 'half-open', 'closed']
  expect(states).toEqual(kinds.map((kind) => [label, kind]))
  expect(label).not.toContain('secret')
})

it('uses the only node whatever its failures', async () => {
  const alone = new UpstreamClient({ urls: [`http://127.0.0.1:${(nodes[0].server.address() as AddressInfo).port}`] })
  nodes[0].isDown = true
  await expect(alone.call({ ...call, attempts: 1 })).rejects.toThrow('HTTP 503')
  nodes[0].isDown = false
  expect(await alone.call({ ...call, attempts: 1 })).toBe(0xan)
  await alone.close()
})

it('uses a straying node if no other is available', async () => {
  client.endpoints[0]!.strays = 'lags'
  expect(await client.call(call)).toBe(0xbn)
  nodes[1].isDown = true
  expect(await client.call(call)).toBe(0xan)
})

it('askEach asks every node, and skips an excluded one', async () => {
  expect(await client.askEach(call)).toEqual([0xan, 0xbn])
  nodes[1].isDown = true
  expect(await client.askEach(call)).toEqual([0xan, undefined])
  nodes[1].asked.length = 0
  expect(await client.askEach(call)).toEqual([0xan, undefined])
  expect(nodes[1].asked).toEqual([])
})
