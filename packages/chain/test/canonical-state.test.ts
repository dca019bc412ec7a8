import { type Devnet, startDevnet } from '@upfront/devnet'
import type { Address, BlockParameter, Hash } from '@upfront/protocol'
import { createTestClient, createWalletClient, http, parseEther, publicActions } from 'viem'
import { NodeState } from './node-state.js'

const signal = new AbortController().signal
const BOB: Address = '0x00000000000000000000000000000000000b0b00'
const SLOT: Hash = `0x${'00'.repeat(32)}`

describe('NodeState on anvil', () => {
  let devnet: Devnet
  let chain: NodeState
  let requests = 0

  beforeAll(async () => {
    devnet = await startDevnet({ payments: false })
    chain = new NodeState([devnet.rpcUrl], {
      onHttpRequest: () => {
        requests += 1
      },
    })
  })
  afterAll(async () => {
    await chain.close()
    await devnet.stop()
  })

  const node = () => createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) }).extend(publicActions)
  const pay = async (value: bigint) => {
    const wallet = createWalletClient({ transport: http(devnet.rpcUrl) })
    const account = (await wallet.getAddresses())[0]!
    return wallet.sendTransaction({ account, chain: null, to: BOB, value })
  }
  const balanceAt = async (block: BlockParameter) => {
    const [balance] = await chain.read(await chain.resolver.resolve(block), [{ kind: 'balance', address: BOB }])
    return balance
  }

  it('never resolves latest to a block older than the request', async () => {
    for (let round = 0; round < 20; round += 1) {
      await node().mine({ blocks: 1 })
      const header = await chain.resolver.head()
      expect(header.number).toBe(await node().getBlockNumber({ cacheTime: 0 }))
    }
  })

  it('reads the pinned block while the chain advances', async () => {
    const before = await chain.resolver.resolve({ kind: 'tag', tag: 'latest' })
    await pay(parseEther('1'))
    await node().mine({ blocks: 1 })
    expect(await chain.read(before, [{ kind: 'balance', address: BOB }])).toEqual([0n])
    expect(await balanceAt({ kind: 'tag', tag: 'latest' })).toBe(parseEther('1'))
    expect(await balanceAt({ kind: 'number', number: before.header.number })).toBe(0n)
    expect(await balanceAt({ kind: 'hash', hash: before.header.hash, requireCanonical: true })).toBe(0n)
    expect(before.key).toBe(before.header.hash)
  })

  it('sends all reads of one moment in one HTTP request, each once', async () => {
    await node().setCode({ address: BOB, bytecode: '0x6001' })
    await node().setStorageAt({ address: BOB, index: SLOT, value: `0x${'00'.repeat(31)}07` })
    await node().mine({ blocks: 1 })
    const block = await chain.resolver.resolve({ kind: 'tag', tag: 'latest' })
    const reads = [
      { kind: 'balance', address: BOB },
      { kind: 'nonce', address: BOB },
      { kind: 'code', address: BOB },
      { kind: 'storage', address: BOB, slot: SLOT },
      { kind: 'blockHash', number: block.header.number - 1n },
    ] as const
    const sent = requests
    const [first, second] = await Promise.all([chain.read(block, reads), chain.read(block, reads)])
    expect(first).toEqual([parseEther('1'), 0n, '0x6001', `0x${'00'.repeat(31)}07`, block.header.parentHash])
    expect(second).toEqual(first)
    expect(await chain.read(block, reads)).toEqual(first)
    expect(requests - sent).toBe(1)
  })

  it('reads the hashes of ancestors', async () => {
    const block = await chain.resolver.resolve({ kind: 'tag', tag: 'latest' })
    const number = block.header.number - 7n
    const expected = (await node().getBlock({ blockNumber: number })).hash
    expect(await chain.read(block, [{ kind: 'blockHash', number }])).toEqual([expected])
  })

  it('rejects a block that the node does not have with -32000', async () => {
    const hash: Hash = `0x${'11'.repeat(32)}`
    await expect(chain.resolver.resolve({ kind: 'hash', hash, requireCanonical: false })).rejects.toMatchObject({
      code: -32000,
      message: 'header for hash not found',
    })
    await expect(chain.resolver.resolve({ kind: 'number', number: 10_000_000n })).rejects.toMatchObject({
      code: -32000,
      message: 'header not found',
    })
  })

  it('follows a reorg, and rejects a block hash that is no longer canonical', async () => {
    await node().mine({ blocks: 2 })
    const old = await chain.resolver.resolve({ kind: 'tag', tag: 'latest' })
    await node().request({ method: 'anvil_reorg', params: [1, []] } as never)
    const head = await chain.resolver.head()
    expect(head.number).toBe(old.header.number)
    expect(head.hash).not.toBe(old.header.hash)
    await expect(
      chain.resolver.resolve({ kind: 'hash', hash: old.header.hash, requireCanonical: true }),
    ).rejects.toMatchObject({
      code: -32000,
      message: 'hash is not currently canonical',
    })
  })

  it('reads on the node’s pending block', async () => {
    await node().setAutomine(false)
    const before = await balanceAt({ kind: 'tag', tag: 'latest' })
    await pay(7n)
    const { value, block } = await chain.resolver.onBlock(
      { kind: 'tag', tag: 'pending' },
      { signal },
      async (block) => {
        const [value] = await chain.read(block, [{ kind: 'balance', address: BOB }])
        return { value, block }
      },
    )
    expect(value).toBe((before as bigint) + 7n)
    expect(block.opening?.timestamp).toBeGreaterThanOrEqual(block.header.timestamp)
    expect(block.header.hash).toBe((await chain.resolver.head()).hash)
    expect(await balanceAt({ kind: 'tag', tag: 'latest' })).toBe(before)
    await node().setAutomine(true)
  })

  it('rejects reads beyond the limit, and stops at the signal without failing others that share the reads', async () => {
    await node().mine({ blocks: 1 })
    const block = await chain.resolver.resolve({ kind: 'tag', tag: 'latest' })
    const reads = [1, 2, 3].map((n) => ({ kind: 'balance', address: `0x${n.toString(16).padStart(40, '0')}` }) as const)
    await expect(chain.read(block, reads, { limit: 2 })).rejects.toMatchObject({ code: -32005 })
    const left = new AbortController()
    const shared = chain.read(block, reads)
    const abandoned = chain.read(block, reads, left)
    left.abort(new Error('client left'))
    await expect(abandoned).rejects.toThrow('client left')
    expect(await shared).toEqual(await chain.read(block, reads))
  })

  it('passes calls through, and returns the node’s own errors', async () => {
    expect(await chain.passThrough('eth_chainId')).toBe('0x7a69')
    await expect(chain.passThrough('eth_nothing')).rejects.toMatchObject({ error: { code: -32601 } })
  })
})
