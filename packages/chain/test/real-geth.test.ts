import { findGeth, type Geth, startGeth } from '@upfront/devnet'
import type { Address, Hash } from '@upfront/protocol'
import { rulesAt } from '@upfront/simulation'
import { NodeState } from './node-state.js'

const geth = findGeth()
if (geth === undefined) console.warn('real-geth: skipped, there is no geth in PATH, ~/go/bin or $GETH')
const withGeth = geth === undefined ? describe.skip : describe

const BOB: Address = '0x00000000000000000000000000000000000b0b00'
const LATEST = { kind: 'tag', tag: 'latest' } as const
const PENDING = { kind: 'tag', tag: 'pending' } as const
const signal = new AbortController().signal

withGeth('NodeState on geth', () => {
  let node: Geth
  let chain: NodeState
  const lacking: string[] = []

  beforeAll(async () => {
    // One block a minute, to have a pending block.
    node = await startGeth(geth!, { blockTimeSeconds: 60 })
    chain = new NodeState([node.rpcUrl], { onWorkaround: ({ lacks }) => void lacking.push(lacks) })
  })
  afterAll(async () => {
    await chain.close()
    await node.stop()
  })

  async function rpc<T>(method: string, ...params: unknown[]): Promise<T> {
    return (await chain.passThrough(method, ...params)) as T
  }

  it('reads the fork rules from eth_config, without a workaround', async () => {
    const rules = await chain.rules()
    expect(rules).toMatchObject({ source: 'eth_config', chainId: 1337n })
    expect(rulesAt(rules, 1n, 1_800_000_000n)?.fork).toBe('osaka')
    expect(await chain.read(await chain.resolver.resolve(LATEST), [{ kind: 'balance', address: BOB }])).toEqual([0n])
    expect(lacking).toEqual([])
  })

  it('rejects unknown blocks with -32000', async () => {
    const hash: Hash = `0x${'11'.repeat(32)}`
    await expect(chain.resolver.resolve({ kind: 'hash', hash, requireCanonical: false })).rejects.toMatchObject({
      code: -32000,
      message: 'header for hash not found',
    })
    await expect(chain.resolver.resolve({ kind: 'number', number: 9_999n })).rejects.toMatchObject({
      code: -32000,
      message: 'header not found',
    })
  })

  it('reads the time and state of the pending block', async () => {
    const [from] = await rpc<Address[]>('eth_accounts')
    const before = (await chain.resolver.head()).number
    await rpc('eth_sendTransaction', { from, to: BOB, value: '0x7' })
    const balance = async (parameter: typeof LATEST | typeof PENDING) =>
      chain.resolver.onBlock(parameter, { signal }, async (block) => ({
        block,
        values: await chain.read(block, [{ kind: 'balance', address: BOB }]),
      }))
    const until = performance.now() + 8_000
    let pending = await balance(PENDING)
    while (pending.values[0] !== 7n && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 200))
      pending = await balance(PENDING)
    }
    expect(pending.values).toEqual([7n])
    expect(pending.block.opening?.timestamp).toBeGreaterThan(pending.block.header.timestamp)
    expect(pending.block.header.number).toBe(before)
    expect((await balance(LATEST)).values).toEqual([0n])
  }, 15_000)
})
