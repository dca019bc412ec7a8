import { createPublicClient, createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { type Anvil, BASE_TIME, type DenimBlocks, setL1Fees, startAnvil, startDenimBlocks } from '../src/index.js'

let anvil: Anvil
let blocks: DenimBlocks
const errors: Error[] = []

beforeAll(async () => {
  anvil = await startAnvil(['--port', '0', '--network', 'optimism', '--no-mining', '--order', 'fifo'])
  await setL1Fees(anvil.rpcUrl)
  blocks = await startDenimBlocks(anvil.rpcUrl, (error) => errors.push(error))
})
afterAll(async () => {
  await blocks?.stop()
  await anvil?.stop()
})

test('mines five blocks a second, each starting with the two deposits', async () => {
  const client = createPublicClient({ transport: http(anvil.rpcUrl), cacheTime: 0 })
  const account = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
  const wallet = createWalletClient({ account, chain: foundry, transport: http(anvil.rpcUrl) })
  for (let nonce = 0; nonce < 50; nonce++) await wallet.sendTransaction({ to: account.address, gas: 21_000n, nonce })
  // The last transaction may still be pending when all have been sent.
  const mined = () => client.getTransactionCount({ address: account.address })
  while (errors.length === 0 && ((await client.getBlockNumber()) < 12n || (await mined()) < 50))
    await new Promise((resolve) => setTimeout(resolve, 50))
  expect(errors).toEqual([])
  const last = await client.getBlockNumber()
  let sent = 0
  for (let number = 1n; number <= last; number++) {
    const block = await client.getBlock({ blockNumber: number, includeTransactions: true })
    const ms = blocks.genesisTime * 1_000n + 200n * number
    expect(block.timestamp).toBe(ms / 1_000n)
    const [first, second, ...others] = block.transactions.map(({ typeHex }) => typeHex)
    expect([first, second, others.includes('0x7e')]).toEqual(['0x7e', '0x7e', false])
    sent += others.length
    const part = await client.getStorageAt({ address: BASE_TIME, slot: '0x0', blockNumber: number })
    expect(BigInt(part ?? 0)).toBe(ms % 1_000n)
  }
  expect(sent).toBe(50)
})
