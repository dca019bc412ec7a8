import {
  type Devnet,
  type FaultProxy,
  NODE_FAULTS,
  type NodeFault,
  startDevnet,
  startFaultProxy,
} from '@upfront/devnet'
import { UpstreamError } from '@upfront/node'
import type { Address, Hash } from '@upfront/protocol'
import { type StateRead, type StateValue } from '@upfront/simulation'
import { createTestClient, http, publicActions } from 'viem'
import { NodeState } from './node-state.js'

const CONTRACT: Address = '0x00000000000000000000000000000000000c0de0'
const CODE = '0x6001600255'
const SLOT: Hash = `0x${'00'.repeat(31)}05`
const WORD: Hash = `0x${'ab'.repeat(32)}`
/** Faults that clients never notice: each is worked around or waited out. */
const HARMLESS: ReadonlySet<NodeFault> = new Set([
  'slow',
  'reordered',
  'cut-batches',
  'refused-batches',
  'forbidden-batches',
  'no-eip-1898',
  'head-goes-back',
])

const account = (n: number): Address => `0x7777${n.toString(16).padStart(36, '0')}`

describe('NodeState on a faulty upstream', () => {
  let devnet: Devnet
  const opened: (() => Promise<void>)[] = []
  let hashes: Hash[]

  beforeAll(async () => {
    devnet = await startDevnet({ payments: false })
    const node = createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) }).extend(publicActions)
    await node.setCode({ address: CONTRACT, bytecode: CODE })
    await node.setStorageAt({ address: CONTRACT, index: SLOT, value: WORD })
    for (let n = 0; n < 400; n += 1) await node.setBalance({ address: account(n), value: BigInt(n) })
    await node.mine({ blocks: 10 })
    const head = Number(await node.getBlockNumber())
    hashes = await Promise.all(
      Array.from({ length: head + 1 }, async (_, n) => (await node.getBlock({ blockNumber: BigInt(n) })).hash),
    )
  })
  afterAll(async () => {
    await Promise.all(opened.map((close) => close()))
    await devnet.stop()
  })

  async function open(options: { targets?: number } = {}) {
    const proxies = await Promise.all(
      Array.from({ length: options.targets ?? 1 }, () => startFaultProxy(devnet.rpcUrl)),
    )
    const chain = new NodeState(proxies.map(({ url }) => url))
    opened.push(() => chain.close(), ...proxies.map((proxy) => proxy.stop))
    return { chain, proxy: proxies[0]!, proxies }
  }

  /** Acts like an engine: a few sequential reads on one block. @throws if a value is wrong */
  async function readAll(chain: NodeState, n: number): Promise<'right' | UpstreamError> {
    const signal = new AbortController().signal
    try {
      await chain.resolver.onBlock({ kind: 'tag', tag: 'latest' }, { signal }, async (block) => {
        const { number } = block.header
        expect(block.header.hash).toBe(hashes[Number(number)])
        const steps: [StateRead, StateValue][][] = [
          [
            [{ kind: 'balance', address: account(n) }, BigInt(n)],
            [{ kind: 'nonce', address: account(n) }, 0n],
            [{ kind: 'code', address: CONTRACT }, CODE],
          ],
          [[{ kind: 'storage', address: CONTRACT, slot: SLOT }, WORD]],
          [[{ kind: 'blockHash', number: number - 4n }, hashes[Number(number) - 4]!]],
        ]
        for (const step of steps) {
          const reads = step.map(([read]) => read)
          const values = await chain.read(block, reads, { signal })
          expect(values).toEqual(step.map(([, value]) => value))
        }
      })
      return 'right'
    } catch (error) {
      if (error instanceof UpstreamError) return error
      throw error
    }
  }

  function expectNamed(outcome: 'right' | UpstreamError, proxy: FaultProxy): void {
    if (outcome === 'right') return
    expect(outcome).toMatchObject({ code: -32603, data: { upstream: proxy.host } })
    expect(outcome.message).toContain(`upstream ${proxy.host}: `)
    expect([502, 504]).toContain(outcome.httpStatus)
  }

  /** All scenarios run concurrently: each has its own proxy and chain state, and mostly waits. */
  const scenarios = new Map<NodeFault, Promise<('right' | UpstreamError)[]>>()
  async function scenario(fault: NodeFault) {
    const { chain, proxy } = await open()
    expect(await readAll(chain, 0)).toBe('right')
    proxy.fault = fault
    proxy.slowMs = 700
    const during = await Promise.all(
      [1, 2, 3].map(async (n) => {
        const outcome = await readAll(chain, n)
        expectNamed(outcome, proxy)
        return outcome
      }),
    )
    const stuck = readAll(chain, 4)
    await new Promise((resolve) => setTimeout(resolve, 100))
    proxy.fault = undefined
    expect(await readAll(chain, 5)).toBe('right')
    expectNamed(await stuck, proxy)
    return during
  }
  beforeAll(() => {
    for (const fault of NODE_FAULTS) {
      const running = scenario(fault)
      running.catch(() => undefined)
      scenarios.set(fault, running)
    }
  })

  it.each(NODE_FAULTS)(
    '%s: answers correctly or with an error that names the fault, and correctly once the fault ends',
    async (fault) => {
      const during = await scenarios.get(fault)!
      if (HARMLESS.has(fault)) expect(during).toEqual(['right', 'right', 'right'])
      else for (const outcome of during) expect(outcome).toBeInstanceOf(UpstreamError)
    },
  )

  it.each(['http-500', 'reset', 'html', 'truncated', 'rpc-error', 'wrong-id'] as const)(
    'answers at least 95%% correctly if one request in five fails with %s',
    async (fault) => {
      const { chain, proxy } = await open()
      proxy.fault = fault
      proxy.oneIn = 5
      const workers = Array.from({ length: 4 }, async (_, worker) => {
        const outcomes: unknown[] = []
        for (let n = 0; n < 15; n += 1) outcomes.push(await readAll(chain, worker * 15 + n))
        return outcomes
      })
      const outcomes = (await Promise.all(workers)).flat()
      expect(proxy.stats.requests).toBeGreaterThan(15)
      expect(outcomes.filter((outcome) => outcome === 'right').length).toBeGreaterThanOrEqual(57)
    },
  )

  it.each(['http-500', 'reset', 'null-blocks'] as const)(
    'does not conclude from %s in half of the requests that the node has no pending block',
    async (fault) => {
      const { chain, proxy } = await open()
      proxy.fault = fault
      proxy.oneIn = 2
      for (let n = 0; n < 6; n += 1) {
        const block = await chain.resolver.resolve({ kind: 'tag', tag: 'pending' })
        expect(block.opening).toBeDefined()
      }
    },
  )

  it('a value that fails does not delay the others', async () => {
    const { chain, proxy } = await open()
    const block = await chain.resolver.resolve({ kind: 'tag', tag: 'latest' })
    proxy.failing.add('eth_getCode')
    const order: string[] = []
    const code = chain.read(block, [{ kind: 'code', address: CONTRACT }]).catch((error) => {
      order.push('code')
      return error
    })
    const balance = chain.read(block, [{ kind: 'balance', address: account(9) }]).finally(() => order.push('balance'))
    expect(await balance).toEqual([9n])
    expect(await code).toBeInstanceOf(UpstreamError)
    expect(order).toEqual(['balance', 'code'])
  })

  it('waits until null blocks become blocks', async () => {
    const { chain, proxy } = await open()
    proxy.fault = 'null-blocks'
    const answer = readAll(chain, 1)
    await new Promise((resolve) => setTimeout(resolve, 200))
    proxy.fault = undefined
    expect(await answer).toBe('right')
  })

  it('uses the next URL while the first is down, and the first again later', async () => {
    const { chain, proxies } = await open({ targets: 2 })
    proxies[0]!.fault = 'reset'
    expect(await Promise.all([1, 2, 3].map((n) => readAll(chain, n)))).toEqual(['right', 'right', 'right'])
    expect(proxies[1]!.stats.requests).toBeGreaterThan(0)
    proxies[0]!.fault = undefined
    proxies[1]!.fault = 'silent'
    expect(await readAll(chain, 4)).toBe('right')
  })

  it('reads no state from a URL of another chain', async () => {
    const other = await startDevnet({ payments: false, chainId: 999 })
    const { proxy } = await open()
    const chain = new NodeState([proxy.url, other.rpcUrl])
    opened.push(() => chain.close())
    expect(await readAll(chain, 1)).toBe('right')
    proxy.fault = 'reset'
    expect(await readAll(chain, 2)).toBeInstanceOf(UpstreamError)
    proxy.fault = undefined
    expect(await readAll(chain, 3)).toBe('right')
    await other.stop()
  })

  it('tries a batch once on a node that refuses batches, then sends single calls', async () => {
    const { chain, proxy } = await open()
    proxy.fault = 'refused-batches'
    expect(await readAll(chain, 1)).toBe('right')
    const { requests } = proxy.stats
    expect(await readAll(chain, 2)).toBe('right')
    expect(proxy.stats.requests - requests).toBeLessThanOrEqual(3)
  })

  it('stops reading an endless answer at the size limit', async () => {
    const { chain, proxy } = await open()
    proxy.fault = 'spaces'
    expect(await readAll(chain, 1)).toBeInstanceOf(UpstreamError)
    expect(proxy.stats.bytesOut / proxy.stats.requests).toBeLessThan(20 * 1024 * 1024)
  })

  it.each(['http-500', 'tells-url'] as const)('shows no credentials of an upstream URL: %s', async (fault) => {
    const proxy = await startFaultProxy(devnet.rpcUrl)
    const url = `http://some-user:some-pass-word@${proxy.host}/v3/0123456789abcdef?token=so-very-hidden`
    const chain = new NodeState([url])
    opened.push(() => chain.close(), proxy.stop)
    expect((await chain.resolver.head()).hash).toBe(hashes.at(-1))
    proxy.fault = fault
    const failed = [async () => chain.resolver.head(), () => chain.passThrough('eth_gasPrice')]
    const errors = await Promise.all(failed.map((ask) => ask().catch((reason: unknown) => reason)))
    for (const error of errors) {
      expect(error).toBeInstanceOf(Error)
      expect(JSON.stringify([error, String(error)])).not.toMatch(
        /some-user|some-pass-word|0123456789abcdef|so-very-hidden/,
      )
    }
  })

  it('uses the next URL immediately after HTTP 429', async () => {
    const { chain, proxies } = await open({ targets: 2 })
    expect(await readAll(chain, 1)).toBe('right')
    proxies[0]!.fault = 'http-429'
    const before = proxies[1]!.stats.requests
    expect(await Promise.all([2, 3, 4].map((n) => readAll(chain, n)))).toEqual(['right', 'right', 'right'])
    expect(proxies[1]!.stats.requests).toBeGreaterThan(before)
    expect(proxies[0]!.stats.requests).toBeLessThan(20)
  })
})
