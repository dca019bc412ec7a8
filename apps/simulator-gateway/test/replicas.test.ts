import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Anvil, freePort, rpc, startAnvil } from '@upfront/devnet'
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

interface Health {
  limits?: 'shared' | 'local'
  replica?: { heads?: 'leads' | 'follows' | 'alone' }
  following: { subscribed: number; head?: string }
}

async function healthOf(gateway: GatewayProcess): Promise<Health> {
  return (await (await fetch(`${gateway.url}/health/ready`)).json()) as Health
}

async function untilLimitsAre(expected: 'shared' | 'local'): Promise<void> {
  for (const gateway of gateways) while ((await healthOf(gateway)).limits !== expected) await sleep(100)
}

/** Waits until this many replicas have this role. */
async function untilRoles(...expected: string[]): Promise<Health[]> {
  for (;;) {
    const health = await Promise.all(gateways.map(healthOf))
    const roles = health.map(({ replica }) => replica?.heads)
    if (
      expected.every(
        (role) => roles.filter((one) => one === role).length === expected.filter((one) => one === role).length,
      )
    )
      return health
    await sleep(100)
  }
}

/** Mines a block, and waits until all replicas follow it. */
async function followNext(): Promise<number> {
  await rpc(anvil.rpcUrl, 'evm_mine', [])
  const head = await rpc<string>(anvil.rpcUrl, 'eth_blockNumber', [])
  for (const gateway of gateways)
    while (Number((await healthOf(gateway)).following.head) < Number(head)) await sleep(50)
  return Number(head)
}

const askNumber = (gateway: GatewayProcess, minState: string) =>
  gateway.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber' }), { 'upfront-min-state': minState })

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
        UPSTREAM_WS_URL: anvil.wsUrl,
        FOLLOW_HEAD: 'always',
        MIN_STATE_WAIT_MS: '1500',
      }
      gateways = await Promise.all([startGatewayProcess(environment), startGatewayProcess(environment)])
    }, 120_000)
    afterAll(async () => {
      await Promise.all(gateways.map((gateway) => gateway.stop()))
      await anvil?.stop()
      await stopRedis()
    })

    it('has one replica listen to the node, and the other take heads from it', async () => {
      await untilRoles('leads', 'follows')
      const before = await Promise.all(gateways.map((gateway) => gateway.metric('upfront_head_subscriptions')))
      expect(before.sort()).toEqual([0, 1])
      for (let block = 0; block < 3; block += 1) await followNext()
    }, 60_000)

    it('upfront-min-state: waits for the state that a client has seen, or is 503', async () => {
      const head = await followNext()
      for (const gateway of gateways) {
        const answer = await askNumber(gateway, `latest; block=${head}; age=3`)
        expect(Number(((await answer.json()) as { result: string }).result)).toBeGreaterThanOrEqual(head)
        const ahead = await askNumber(gateway, String(head + 1_000))
        expect([ahead.status, ahead.headers.get('retry-after')]).toEqual([503, '1'])
        expect(await ahead.json()).toMatchObject({ error: { message: expect.stringContaining('upfront-min-state') } })
        expect((await askNumber(gateway, 'newest')).status).toBe(400)
      }
      const [gateway] = gateways as [GatewayProcess]
      for (let status = 503; status !== 200; ) {
        const next = Number(await rpc<string>(anvil.rpcUrl, 'eth_blockNumber', [])) + 1
        const waiting = askNumber(gateway, `latest; block=${next}`)
        await rpc(anvil.rpcUrl, 'evm_mine', [])
        const answer = await waiting
        status = answer.status
        if (status === 200)
          expect(Number(((await answer.json()) as { result: string }).result)).toBeGreaterThanOrEqual(next)
      }
    }, 60_000)

    it('has replicas count limits together', async () => {
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
      await untilRoles('alone', 'alone')
      await followNext()
      await startRedis()
      await untilLimitsAre('shared')
      await untilRoles('leads', 'follows')
      await followNext()
      for (const gateway of gateways) expect([200, 429]).toContain((await gateway.post(TRANSFER)).status)
    }, 60_000)

    it('has another replica listen where the one that did is killed', async () => {
      const health = await untilRoles('leads', 'follows')
      const leader = gateways[health.findIndex(({ replica }) => replica?.heads === 'leads')]!
      leader.process.kill('SIGKILL')
      gateways = gateways.filter((gateway) => gateway !== leader)
      await untilRoles('leads')
      while ((await gateways[0]!.metric('upfront_head_subscriptions')) !== 1) await sleep(50)
      await followNext()
    }, 60_000)
  },
)
