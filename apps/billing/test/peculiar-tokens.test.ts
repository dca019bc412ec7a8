import {
  type Devnet,
  findGeth,
  GETH_DEVELOPER,
  readArtifact,
  startDevnet,
  startGeth,
  USDC_ADDRESS,
} from '@upfront/devnet'
import { type Address, RefusalReason } from '@upfront/protocol'
import { createPublicClient, createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { examineToken } from '../src/chain/examine-token.js'
import { Node } from '../src/chain/node.js'
import { runBilling } from './support/billing.js'
import { makeRequirements } from './support/buyer.js'
import { rpc } from './support/on-chain.js'
import { until } from './support/until.js'

const FEE_TOKEN = '0x00000000000000000000000000000000000fee00'
const IMPLEMENTATION = '0x0000000000000000000000000000000000c0571e'
const REBASING_TOKEN = '0x0000000000000000000000000000000000deba5e'

describe('billing checks its tokens at start, and', () => {
  let devnet: Devnet
  const start = (asset: string) => {
    const tokens = { [asset]: { name: 'Token', version: '1', decimals: 6 } }
    return runBilling(devnet.rpcUrl, { CHAINS: JSON.stringify({ 'eip155:31337': { rpcUrl: devnet.rpcUrl, tokens } }) })
  }

  beforeAll(async () => {
    devnet = await startDevnet()
    for (const [address, name] of [
      [FEE_TOKEN, 'FeeToken'],
      [REBASING_TOKEN, 'RebasingToken'],
    ] as const) {
      await rpc(devnet.rpcUrl, 'anvil_setCode', [address, readArtifact(name).deployedBytecode])
    }
  })
  afterAll(() => devnet.stop())

  it('refuses one that takes a fee on transfers', async () => {
    await expect(start(FEE_TOKEN)).rejects.toThrow(
      `CHAINS["eip155:31337"].tokens["${FEE_TOKEN}"]: takes a fee on transfers`,
    )
  })

  it('refuses one that rebases', async () => {
    await expect(start(REBASING_TOKEN)).rejects.toThrow(`CHAINS["eip155:31337"].tokens["${REBASING_TOKEN}"]: rebases`)
  })

  const looksPlain = async (rpcUrl: string, token: string) => {
    const node = new Node(rpcUrl, Number(await rpc(rpcUrl, 'eth_chainId', [])), 10_000)
    expect(await examineToken(node, token.toLowerCase() as Address)).toBe('plain')
    await node.close()
  }

  it('accepts test USDC as plain, on anvil', () => looksPlain(devnet.rpcUrl, USDC_ADDRESS))

  it('accepts one with expensive transfers, whose gas is estimated at verification', async () => {
    const code = String(await rpc(devnet.rpcUrl, 'eth_getCode', [USDC_ADDRESS, 'latest']))
    await rpc(devnet.rpcUrl, 'anvil_setCode', [IMPLEMENTATION, code])
    // 4,000 rounds of a loop, some 104,000 gas, before each call is delegated.
    const burn = '610fa05b600190038060035750'
    const delegate = `365f5f375f5f365f73${IMPLEMENTATION.slice(2)}5af43d5f5f3e6036573d5ffd5b3d5ff3`
    await rpc(devnet.rpcUrl, 'anvil_setCode', [USDC_ADDRESS, `0x${burn}${delegate}`])
    const billing = await runBilling(devnet.rpcUrl)
    try {
      for (const offer of [
        {},
        { scheme: 'exact', method: 'permit2' },
        { scheme: 'exact', method: 'eip3009' },
      ] as const) {
        const { id } = await billing.authorizeNew(makeRequirements({ maximum: '2000000', ...offer }))
        const { payment } = await billing.charge(id, '2000000')
        expect([offer, payment.state, payment.doubt]).toEqual([offer, 'settled', null])
        expect(BigInt(payment.gasUsed ?? 0)).toBeGreaterThan(130_000n)
      }
      // Still more expensive after authorization: the charge fails by what the chain shows, before its deadline.
      const { id } = await billing.authorizeNew(makeRequirements({ maximum: '2000000' }))
      await rpc(devnet.rpcUrl, 'anvil_setCode', [USDC_ADDRESS, `0x${burn.replace('0fa0', '3000')}${delegate}`])
      const charged = await billing.charge(id, '2000000', { waitMilliseconds: 1 })
      expect(charged.payment).toMatchObject({ doubt: RefusalReason.simulationFailed })
      const { state, reason } = await until(
        () => billing.payment(id),
        (payment) => payment.state !== 'charging',
        () => rpc(devnet.rpcUrl, 'anvil_mine', ['0x1']),
      )
      expect([state, reason]).toEqual(['failed', RefusalReason.simulationFailed])
    } finally {
      await billing.close()
      await rpc(devnet.rpcUrl, 'anvil_setCode', [USDC_ADDRESS, code])
    }
  })

  const geth = findGeth()
  const onGeth = geth === undefined ? it.skip : it

  // Without geth there is no second node to compare with.
  onGeth('accepts test USDC as plain, on geth', async () => {
    const node = await startGeth(geth!)
    try {
      const account = privateKeyToAccount(GETH_DEVELOPER.privateKey)
      const hash = await createWalletClient({ account, transport: http(node.rpcUrl) }).deployContract({
        ...readArtifact('TestUsdc'),
        chain: null,
      })
      const client = createPublicClient({ transport: http(node.rpcUrl), pollingInterval: 50 })
      const { contractAddress } = await client.waitForTransactionReceipt({ hash })
      await looksPlain(node.rpcUrl, String(contractAddress))
    } finally {
      await node.stop()
    }
  })
})
