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

test('without a block time, blocks come with transactions only', async () => {
  const { rpcUrl } = await start({})
  const client = createPublicClient({ transport: http(rpcUrl), cacheTime: 0 })
  const before = await client.getBlockNumber()
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  expect(await client.getBlockNumber()).toBe(before)
}, 30_000)

test('with a block time, blocks come by themselves', async () => {
  const { rpcUrl } = await start({ blockTimeSeconds: 1 })
  const client = createPublicClient({ transport: http(rpcUrl), cacheTime: 0 })
  const before = await client.getBlockNumber()
  while ((await client.getBlockNumber()) < before + 2n) await new Promise((resolve) => setTimeout(resolve, 50))
}, 30_000)

test('with a flashblocks port, a stream opens each block', async () => {
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
}, 30_000)

test('a port in use is said in anvil’s own words', async () => {
  const { port } = await start({ payments: false })
  await expect(startAnvil(['--port', String(port)])).rejects.toThrow(/address already in use/i)
}, 30_000)

test('stop ends the process', async () => {
  const devnet = await start({ payments: false })
  await devnet.stop()
  expect(() => process.kill(devnet.pid, 0)).toThrow('ESRCH')
}, 30_000)

test('the accounts are funded', async () => {
  const { rpcUrl } = await start({ payments: false })
  const client = createPublicClient({ transport: http(rpcUrl) })
  for (const { address } of [DEVNET_ROLES.buyer, ...DEVNET_ROLES.facilitators])
    expect(await client.getBalance({ address })).toBe(10_000n * 10n ** 18n)
}, 30_000)
