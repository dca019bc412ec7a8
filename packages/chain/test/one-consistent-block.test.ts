import { setTimeout as sleep } from 'node:timers/promises'
import { DEVNET_ROLES, type Devnet, type FaultProxy, startDevnet, startFaultProxy } from '@upfront/devnet'
import type { Address, BlockParameter } from '@upfront/protocol'
import { type StateRead } from '@upfront/simulation'
import { createTestClient, http, publicActions, walletActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { NodeState } from './node-state.js'

const BOB: Address = '0x00000000000000000000000000000000000b0b00'
const LATEST = { kind: 'tag', tag: 'latest' } as const
const PENDING = { kind: 'tag', tag: 'pending' } as const

/**
 * Every transaction sends Bob 1 wei, so the sender's nonce and Bob's balance are equal in every block. The node is never read while it
 * mines, because anvil then answers for its head, even by hash, with the state of the next block.
 */
describe('two values that change together in every transaction', () => {
  let devnet: Devnet
  let proxy: FaultProxy
  let chain: NodeState
  const account = privateKeyToAccount(DEVNET_ROLES.deployer.privateKey)
  const nonceRead: StateRead = { kind: 'nonce', address: account.address.toLowerCase() as Address }
  const balanceRead: StateRead = { kind: 'balance', address: BOB }
  const signal = new AbortController().signal

  beforeEach(async () => {
    devnet = await startDevnet({ payments: false })
    proxy = await startFaultProxy(devnet.rpcUrl)
    chain = new NodeState([proxy.url])
  })
  afterEach(async () => {
    await chain.close()
    await proxy.stop()
    await devnet.stop()
  })

  const node = () =>
    createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl), account, pollingInterval: 20 })
      .extend(publicActions)
      .extend(walletActions)
  const pay = () => node().sendTransaction({ chain: null, to: BOB, value: 1n, gas: 21_000n })
  const mine = async () => {
    await node().waitForTransactionReceipt({ hash: await pay() })
  }

  /** How often the work began, and the value on which both reads agreed. */
  async function readAround(parameter: BlockParameter, between: (run: number) => Promise<unknown>) {
    let runs = 0
    const value = await chain.resolver.onBlock(parameter, { signal }, async (block) => {
      runs += 1
      const [nonce] = await chain.read(block, [nonceRead])
      await between(runs)
      const [balance] = await chain.read(block, [balanceRead])
      expect(balance).toBe(nonce)
      return nonce as bigint
    })
    return { value, runs }
  }

  it.each([undefined, 'no-eip-1898'] as const)('agree on latest while the chain advances (%s)', async (fault) => {
    proxy.fault = fault
    let mined = 0n
    const goOn = async () => {
      await mine()
      mined += 1n
    }
    for (let round = 0; round < 5; round += 1) {
      const before = mined
      const { value, runs } = await readAround(LATEST, goOn)
      expect(value).toBeGreaterThanOrEqual(before)
      expect(value).toBeLessThan(mined)
      // Once on the last known head while the node is asked, then on the current head.
      expect(runs).toBeLessThanOrEqual(2)
    }
  })

  it('agree after a reorg if the node can be read by number only', async () => {
    proxy.fault = 'no-eip-1898'
    await mine()
    const reorganise = async (run: number) => {
      if (run === 1) await node().request({ method: 'anvil_reorg', params: [1, []] } as never)
    }
    expect(await readAround(LATEST, reorganise)).toEqual({ value: 0n, runs: 2 })
  })

  it('agree on a pending block that grew between the reads', async () => {
    await node().setAutomine(false)
    await pay()
    const growTwice = async (run: number) => {
      if (run > 2) return
      const hash = await pay()
      // anvil adds it to the pending block a moment later.
      const pending = () => node().getBlock({ blockTag: 'pending' })
      while (!(await pending()).transactions.includes(hash)) await sleep(5)
    }
    const { value, runs } = await readAround(PENDING, growTwice)
    expect(value).toBe(3n)
    expect(runs).toBeGreaterThanOrEqual(3)
  })

  it('fail with block-moved if the pending block keeps changing', async () => {
    await node().setAutomine(false)
    await expect(readAround(PENDING, pay)).rejects.toMatchObject({
      code: -32603,
      data: { upstream: proxy.host, fault: 'block-moved' },
    })
  })
})
