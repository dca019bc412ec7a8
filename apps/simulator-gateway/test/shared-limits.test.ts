import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Anvil, freePort, startAnvil } from '@upfront/devnet'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'

const TRANSFER = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'eth_simulateV1',
  params: [{ blockStateCalls: [{ calls: [{ to: `0x${'11'.repeat(20)}` }] }] }, 'latest'],
})
const SERVER = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0)
const withRedis = SERVER === undefined ? describe.skip : describe

let anvil: Anvil
let gateways: GatewayProcess[] = []
let port: number
let redis: ChildProcess | undefined

async function startRedis(): Promise<void> {
  redis = spawn(SERVER!, ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  for await (const chunk of redis.stdout!) if (/ready to accept connections/i.test(String(chunk))) return
}

async function stopRedis(): Promise<void> {
  if (redis === undefined || redis.exitCode !== null) return
  redis.kill('SIGKILL')
  await once(redis, 'exit')
}

async function limitsOf(gateway: GatewayProcess): Promise<unknown> {
  return ((await (await fetch(`${gateway.url}/health/ready`)).json()) as { limits?: unknown }).limits
}

async function untilLimitsAre(expected: 'shared' | 'local'): Promise<void> {
  for (const gateway of gateways) while ((await limitsOf(gateway)) !== expected) await sleep(100)
}

withRedis(
  `REDIS_URL${SERVER === undefined ? ' (skipped: neither redis-server nor valkey-server is installed)' : ''}`,
  () => {
    beforeAll(async () => {
      port = await freePort()
      await startRedis()
      anvil = await startAnvil(['--port', '0'])
      const environment = {
        UPSTREAM_RPC_URL: anvil.rpcUrl,
        REDIS_URL: `redis://127.0.0.1:${port}`,
        FREE_RATE_LIMIT: '1000',
        // Three transfers.
        FREE_GAS_PER_MINUTE: '63000',
      }
      gateways = await Promise.all([startGatewayProcess(environment), startGatewayProcess(environment)])
    }, 120_000)
    afterAll(async () => {
      await Promise.all(gateways.map((gateway) => gateway.stop()))
      await anvil?.stop()
      await stopRedis()
    })

    it('has replicas count together', async () => {
      await untilLimitsAre('shared')
      let served = 0
      const isSpent = new Set<GatewayProcess>()
      while (isSpent.size < 2)
        for (const gateway of gateways)
          if ((await gateway.post(TRANSFER)).status === 200) served += 1
          else isSpent.add(gateway)
      // A replica learns that a budget is spent from its own next call.
      expect(served).toBeGreaterThanOrEqual(3)
      expect(served).toBeLessThanOrEqual(5)
    }, 60_000)

    it('goes on without Redis, each replica counting alone, and counts together once it is back', async () => {
      await stopRedis()
      await untilLimitsAre('local')
      for (const gateway of gateways) {
        expect([200, 429]).toContain((await gateway.post(TRANSFER)).status)
        expect((await fetch(`${gateway.url}/health/ready`)).status).toBe(200)
      }
      await startRedis()
      await untilLimitsAre('shared')
      for (const gateway of gateways) expect([200, 429]).toContain((await gateway.post(TRANSFER)).status)
    }, 60_000)
  },
)
