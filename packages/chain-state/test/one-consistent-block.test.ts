import { DEVNET_ROLES, type Devnet, startDevnet } from '@upfront/devnet'
import type { Address, BlockParameter } from '@upfront/protocol'
import { createTestClient, http, publicActions, walletActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type FaultyUpstream, startFaultyUpstream } from '../src/faulty-upstream/index.js'
import { BlockMoved, ChainState } from '../src/index.js'

const BOB: Address = '0x00000000000000000000000000000000000b0b00'
const LASTS_MS = 1_500

/** Every transaction sends Bob 1 wei: the sender's nonce and Bob's balance are equal in every block there ever is. */
describe('two values that every transaction changes together', () => {
  let devnet: Devnet
  let proxy: FaultyUpstream
  const account = privateKeyToAccount(DEVNET_ROLES.deployer.privateKey)

  beforeEach(async () => {
    devnet = await startDevnet({ payments: false })
    proxy = await startFaultyUpstream(devnet.rpcUrl)
  })
  afterEach(async () => {
    await proxy.close()
    await devnet.stop()
  })

  const node = () =>
    createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl), account })
      .extend(publicActions)
      .extend(walletActions)

  async function readWhilePaying(
    parameter: BlockParameter,
    pauseMs = 0,
  ): Promise<{ values: Set<bigint>; moved: number }> {
    const chain = new ChainState({ urls: [proxy.url] })
    const until = performance.now() + LASTS_MS
    const client = node()
    const paying = (async () => {
      for (let nonce = 0; performance.now() < until; nonce += 1) {
        if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
        await client.sendTransaction({ chain: null, to: BOB, value: 1n, nonce, gas: 21_000n, gasPrice: 10n ** 10n })
      }
    })()
    const values = new Set<bigint>()
    let moved = 0
    const reading = Array.from({ length: 4 }, async () => {
      const signal = AbortSignal.timeout(20_000)
      while (performance.now() < until) {
        try {
          await chain.onBlock(parameter, { signal }, async (block) => {
            const state = chain.stateSource(block)
            const [nonce] = await state.read(
              [{ kind: 'nonce', address: account.address.toLowerCase() as Address }],
              signal,
            )
            const [balance] = await state.read([{ kind: 'balance', address: BOB }], signal)
            expect(balance).toBe(nonce)
            values.add(nonce as bigint)
          })
        } catch (error) {
          if (!(error instanceof BlockMoved)) throw error
          moved += 1
        }
      }
    })
    await Promise.all([paying, ...reading])
    await chain.close()
    return { values, moved }
  }

  it('agree on latest, block after block', async () => {
    const { values, moved } = await readWhilePaying({ kind: 'tag', tag: 'latest' })
    expect(values.size).toBeGreaterThan(5)
    expect(moved).toBe(0)
  })

  it('agree on latest where the node does not know EIP-1898', async () => {
    proxy.fault = 'no-eip-1898'
    const { values, moved } = await readWhilePaying({ kind: 'tag', tag: 'latest' })
    expect(values.size).toBeGreaterThan(5)
    expect(moved).toBe(0)
  })

  it('agree on pending, or the request is refused, while the pending block grows', async () => {
    await node().setAutomine(false)
    const { values } = await readWhilePaying({ kind: 'tag', tag: 'pending' }, 50)
    expect(values.size).toBeGreaterThan(2)
  })
})
