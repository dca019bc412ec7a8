import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeQuantity } from '../src/decode-result.js'
import type { UpstreamCall } from '../src/upstream-call.js'
import { UpstreamClient } from '../src/upstream-client.js'

/** A node that can withhold its answers. */
class SlowNode {
  readonly asked: string[] = []
  isHolding = false
  readonly #held: (() => void)[] = []
  readonly #server: Server

  constructor(private readonly result: string) {
    this.#server = createServer(async (request, response) => {
      let text = ''
      for await (const chunk of request) text += chunk
      const { id, method } = JSON.parse(text) as { id: number; method: string }
      this.asked.push(method)
      const answer = () => this.#answer(response, id, method)
      if (this.isHolding && method !== 'eth_chainId') this.#held.push(answer)
      else answer()
    }).listen(0, '127.0.0.1')
  }

  async url(): Promise<string> {
    if (!this.#server.listening) await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  release(): void {
    this.isHolding = false
    for (const answer of this.#held.splice(0)) answer()
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  #answer(response: ServerResponse, id: number, method: string): void {
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x1' : this.result }))
  }
}

const read = (more: Partial<UpstreamCall<bigint>> = {}): UpstreamCall<bigint> => ({
  method: 'eth_getBalance',
  params: [],
  decode: decodeQuantity,
  maxBytes: 100,
  mayHedge: true,
  ...more,
})

describe('UpstreamClient with two URLs', () => {
  let nodes: [SlowNode, SlowNode]
  let client: UpstreamClient
  let hedges: boolean[]
  beforeEach(async () => {
    nodes = [new SlowNode('0xa'), new SlowNode('0xb')]
    hedges = []
    client = new UpstreamClient({
      urls: await Promise.all(nodes.map((node) => node.url())),
      observer: { onHedge: ({ isFirst }) => hedges.push(isFirst) },
    })
    // Enough calls to learn the first node's response time.
    for (let count = 0; count < 24; count += 1) await client.call(read({ mayHedge: false }))
  })
  afterEach(async () => {
    for (const node of nodes) node.release()
    await client.close()
    for (const node of nodes) node.close()
  })

  it('asks the second node if the first is slower than usual, and uses its answer', async () => {
    nodes[0].isHolding = true
    expect(await client.call(read())).toBe(0xbn)
    expect(hedges).toEqual([true])
    expect(nodes[1].asked.filter((method) => method === 'eth_getBalance')).toHaveLength(1)
  })

  it('uses the first node’s answer if the second gives none', async () => {
    nodes[0].isHolding = true
    nodes[1].isHolding = true
    const answer = client.call(read())
    while (!nodes[1].asked.includes('eth_getBalance')) await new Promise((resolve) => setTimeout(resolve, 5))
    nodes[0].release()
    expect(await answer).toBe(0xan)
    expect(hedges).toEqual([false])
  })

  it('does not hedge a call whose answer may differ between nodes', async () => {
    nodes[0].isHolding = true
    const answer = client.call(read({ mayHedge: false }))
    await new Promise((resolve) => setTimeout(resolve, 200))
    nodes[0].release()
    expect(await answer).toBe(0xan)
    expect(nodes[1].asked).not.toContain('eth_getBalance')
  })
})
