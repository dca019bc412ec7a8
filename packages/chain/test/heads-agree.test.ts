import { type Devnet, type FaultProxy, startDevnet, startFaultProxy } from '@upfront/devnet'
import { CallQueue, UpstreamClient } from '@upfront/node'
import { createTestClient, http } from 'viem'
import { BlockResolver } from '../src/head/block-resolver.js'
import { HeadAgreement } from '../src/head/head-agreement.js'
import { NodeHead } from '../src/head/node-head.js'

const TOLD = { method: 'eth_getBlockByNumber', tag: 'latest' }

let devnet: Devnet
let proxies: FaultProxy[]
let client: UpstreamClient
let agreement: HeadAgreement
let resolver: BlockResolver

beforeAll(async () => {
  devnet = await startDevnet({ payments: false })
  await mine(10)
  proxies = await Promise.all([0, 1, 2].map(() => startFaultProxy(devnet.rpcUrl)))
})
afterAll(async () => {
  await Promise.all(proxies.map((proxy) => proxy.stop()))
  await devnet?.stop()
})
afterEach(async () => {
  agreement.close()
  await client.close()
  for (const proxy of proxies) {
    proxy.cap = undefined
    proxy.lies = undefined
    proxy.fault = undefined
  }
})

function open(count: number): void {
  client = new UpstreamClient({ urls: proxies.slice(0, count).map(({ url }) => url) })
  agreement = new HeadAgreement(client)
  resolver = new BlockResolver(client, new NodeHead(client, new CallQueue(client)))
}

const node = () => createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
const mine = (blocks: number) => node().mine({ blocks })
const strays = () => agreement.status().map((status) => status.strays)
const latest = async () => (await resolver.resolve({ kind: 'tag', tag: 'latest' })).header.number
const block = async (tag: string): Promise<Record<string, string>> => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: TOLD.method, params: [tag, false] })
  const response = await fetch(devnet.rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return ((await response.json()) as { result: Record<string, string> }).result
}
const head = async () => BigInt((await block('latest')).number!)

/** Makes a proxy return this head. */
async function say(proxy: FaultProxy, change: Record<string, string>): Promise<void> {
  const told = { ...(await block('latest')), ...change }
  proxy.lies = ({ method, params }) => (method === TOLD.method && params?.[0] === TOLD.tag ? told : undefined)
}

describe('latest of several URLs', () => {
  it('ignores the head of a lagging node until it has caught up', async () => {
    open(3)
    proxies[0]!.cap = (await head()) - 5n
    expect(await latest()).toBe((await head()) - 5n)
    await agreement.compare()
    expect(strays()).toEqual(['lags', undefined, undefined])
    expect(await latest()).toBe(await head())
    proxies[0]!.cap = undefined
    await agreement.compare()
    expect(strays()).toEqual([undefined, undefined, undefined])
  })

  it('ignores the head of a node that is ahead of all others', async () => {
    open(3)
    await say(proxies[0]!, { number: `0x${((await head()) + 5n).toString(16)}`, hash: `0x${'ab'.repeat(32)}` })
    await agreement.compare()
    expect(strays()).toEqual(['ahead', undefined, undefined])
    expect(await latest()).toBe(await head())
  })

  it('ignores the head of a node with another block at the same height', async () => {
    open(3)
    await say(proxies[0]!, { hash: `0x${'ab'.repeat(32)}` })
    await agreement.compare()
    expect(strays()).toEqual(['differs', undefined, undefined])
    const resolved = await resolver.resolve({ kind: 'tag', tag: 'latest' })
    expect(resolved.header.hash).toBe((await block('latest')).hash)
  })

  it('ignores the head of one of two nodes that stands still while the other advances', async () => {
    open(2)
    proxies[0]!.cap = await head()
    await agreement.compare()
    for (let moves = 0; moves < 2; moves += 1) {
      await mine(2)
      await agreement.compare()
    }
    expect(strays()).toEqual(['lags', undefined])
    expect(await latest()).toBe(await head())
  })

  it('uses a node that disagrees if it is the only one left', async () => {
    open(2)
    await say(proxies[1]!, { hash: `0x${'ab'.repeat(32)}` })
    await agreement.compare()
    expect(strays()).toEqual([undefined, 'differs'])
    proxies[0]!.fault = 'reset'
    expect(await latest()).toBe(await head())
    expect(agreement.status()[0]).toMatchObject({ circuit: 'open', upstream: proxies[0]!.host })
  })
})
