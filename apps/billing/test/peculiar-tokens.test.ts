import {
  type Devnet,
  findGeth,
  GETH_DEVELOPER,
  readArtifact,
  startDevnet,
  startGeth,
  USDC_ADDRESS,
} from '@upfront/devnet'
import type { Address } from '@upfront/protocol'
import { createPublicClient, createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { examineToken } from '../src/chain/examine-token.js'
import { Node } from '../src/chain/node.js'
import { runBilling } from './support/billing.js'
import { rpc } from './support/on-chain.js'

const FEE_TOKEN = '0x00000000000000000000000000000000000fee00'
const REBASING_TOKEN = '0x0000000000000000000000000000000000deba5e'

describe('tokens that a payment can not be settled with as it is charged', () => {
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

  it('are refused at start: one that takes a fee on transfers', async () => {
    await expect(start(FEE_TOKEN)).rejects.toThrow(
      `CHAINS["eip155:31337"].tokens["${FEE_TOKEN}"]: takes a fee on transfers`,
    )
  })

  it('are refused at start: one whose balances change by themselves', async () => {
    await expect(start(REBASING_TOKEN)).rejects.toThrow(`CHAINS["eip155:31337"].tokens["${REBASING_TOKEN}"]: rebases`)
  })

  const looksPlain = async (rpcUrl: string, token: string) => {
    const node = new Node(rpcUrl, Number(await rpc(rpcUrl, 'eth_chainId', [])), 10_000)
    expect(await examineToken(node, token.toLowerCase() as Address)).toBe('plain')
    await node.close()
  }

  it('are not plain ones, on anvil', () => looksPlain(devnet.rpcUrl, USDC_ADDRESS))

  const geth = findGeth()
  const onGeth = geth === undefined ? it.skip : it

  // Without geth there is no second node to compare with.
  onGeth('are not plain ones, on geth', async () => {
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
