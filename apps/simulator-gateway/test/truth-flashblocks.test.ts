import { type Devnet, startDevnet } from '@upfront/devnet'
import { createWalletClient, http, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import type { Summary } from './truth-stand.js'

let devnet: Devnet
let gateway: GatewayProcess

beforeAll(async () => {
  devnet = await startDevnet({ flashblocksPort: 0, blockTimeSeconds: 2, payments: false })
  gateway = await startGateway({
    UPSTREAM_RPC_URL: devnet.rpcUrl,
    FLASHBLOCKS_WS_URL: devnet.flashblocksUrl!,
    TRUTH_SCORE: 'on',
  })
})
afterAll(async () => {
  await gateway?.stop()
  await devnet?.stop()
})

it('scores predictions for the block under construction, and signs nothing without a key', async () => {
  const account = privateKeyToAccount(devnet.accounts.deployer.privateKey)
  const wallet = createWalletClient({ account, chain: foundry, transport: http(devnet.rpcUrl) })
  let found: Summary
  do {
    await wallet.sendTransaction({ to: `0x${'b0'.repeat(20)}`, value: parseEther('0.001') })
    await new Promise((resolve) => setTimeout(resolve, 200))
    found = (await (await fetch(`${gateway.url}/v1/truth`)).json()) as Summary
  } while (found.judged === 0)
  expect(found).toMatchObject({ hits: found.judged, misses: [] })
  expect(found.predicted).toBeGreaterThanOrEqual(found.judged)
  expect(found).not.toHaveProperty('signature')
})
