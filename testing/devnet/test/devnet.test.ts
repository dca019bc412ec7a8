import { createPublicClient, http } from 'viem'
import { WebSocket } from 'ws'
import { DEVNET_ROLES, type Devnet, startAnvil, startDevnet } from '../src/index.js'

const running: Devnet[] = []
const start = async (options: Parameters<typeof startDevnet>[0]) => {
  const devnet = await startDevnet(options)
  running.push(devnet)
  return devnet
}
afterEach(async () => {
  await Promise.all(running.splice(0).map((devnet) => devnet.stop()))
})

test('without a block time, mines only when a transaction arrives', async () => {
  const { rpcUrl } = await start({})
  const client = createPublicClient({ transport: http(rpcUrl), cacheTime: 0 })
  const before = await client.getBlockNumber()
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  expect(await client.getBlockNumber()).toBe(before)
})

test('with a block time, mines empty blocks', async () => {
  const { rpcUrl } = await start({ blockTimeSeconds: 1 })
  const client = createPublicClient({ transport: http(rpcUrl), cacheTime: 0 })
  const before = await client.getBlockNumber()
  while ((await client.getBlockNumber()) < before + 2n) await new Promise((resolve) => setTimeout(resolve, 50))
})

test('with a flashblocks port, streams an index 0 with a base for each block', async () => {
  const { flashblocksUrl } = await start({ payments: false, flashblocksPort: 0 })
  const socket = new WebSocket(String(flashblocksUrl))
  const first = await new Promise<{ index: number; base?: object }>((resolve) => {
    socket.on('message', (data) => {
      const message = JSON.parse(String(data))
      if (message.index === 0) resolve(message)
    })
  })
  socket.close()
  expect(first.base).toHaveProperty('parent_hash')
})

test('rejects a port in use with anvil’s message', async () => {
  const { port } = await start({ payments: false })
  await expect(startAnvil(['--port', String(port)])).rejects.toThrow(/address already in use/i)
})

test('stop() ends the process', async () => {
  const devnet = await start({ payments: false })
  await devnet.stop()
  expect(() => process.kill(devnet.pid, 0)).toThrow('ESRCH')
})

test.each([
  [4788, '0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02'],
  [2935, '0x0000F90827F1C53a10cb7A02335B175320002935'],
  [7002, '0x00000961Ef480Eb55e80D19ad83579A64c007002'],
  [7251, '0x0000BBdDc7CE488642fb579F8B00f3A590007251'],
] as const)(
  'has the system contract of EIP-%d',
  async (_, address) => {
    const { rpcUrl } = await start({ payments: false })
    expect(await createPublicClient({ transport: http(rpcUrl) }).getCode({ address })).toMatch(/^0x3373fffff/)
  },
  30_000,
)

test('funds its accounts with 10,000 ETH', async () => {
  const { rpcUrl } = await start({ payments: false })
  const client = createPublicClient({ transport: http(rpcUrl) })
  for (const { address } of [DEVNET_ROLES.buyer, ...DEVNET_ROLES.facilitators])
    expect(await client.getBalance({ address })).toBe(10_000n * 10n ** 18n)
})
