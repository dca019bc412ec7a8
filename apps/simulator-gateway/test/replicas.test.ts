import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Devnet, freePort, rpc, startDevnet } from '@upfront/devnet'
import { STATE_HEADER } from '../src/pending/answer-state.js'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'

const TRANSFER = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'eth_simulateV1',
  params: [{ blockStateCalls: [{ calls: [{ to: `0x${'11'.repeat(20)}` }] }] }, 'latest'],
})
const SERVER = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0)
const withRedis = SERVER === undefined ? describe.skip : describe

let devnet: Devnet
let stream: Server
/** Gateways' connections to the Flashblocks stream. */
const connections = new Set<Socket>()
const listeners = () => connections.size
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

type Role = 'leads' | 'follows' | 'alone'

interface Health {
  limits?: 'shared' | 'local'
  replica?: { heads?: Role; flashblocks?: Role }
  preconfirmed?: { connected: boolean; block?: string; flashblock?: number }
  following: { subscribed: number; head?: string }
}

async function healthOf(gateway: GatewayProcess): Promise<Health> {
  return (await (await fetch(`${gateway.url}/health/ready`)).json()) as Health
}

async function untilLimitsAre(expected: 'shared' | 'local'): Promise<void> {
  for (const gateway of gateways) while ((await healthOf(gateway)).limits !== expected) await sleep(100)
}

/** Waits until the replicas have these roles, in any order, for heads and for flashblocks. */
async function untilRoles(...expected: Role[]): Promise<Health[]> {
  for (;;) {
    const health = await Promise.all(gateways.map(healthOf))
    const rolesOf = (what: 'heads' | 'flashblocks') => health.map(({ replica }) => String(replica?.[what])).sort()
    const wanted = String(expected.sort())
    if (String(rolesOf('heads')) === wanted && String(rolesOf('flashblocks')) === wanted) return health
    await sleep(100)
  }
}

/** Waits for the chain's next block, and until all replicas follow it. */
async function followNext(): Promise<number> {
  const number = async () => Number(await rpc<string>(devnet.rpcUrl, 'eth_blockNumber', []))
  const before = await number()
  while ((await number()) === before) await sleep(50)
  for (const gateway of gateways) while (!(Number((await healthOf(gateway)).following.head) > before)) await sleep(50)
  return before + 1
}

/** Waits until each replica shows flashblocks of a block that is not sealed yet. */
async function untilPendingMoves(): Promise<void> {
  const head = Number(await rpc<string>(devnet.rpcUrl, 'eth_blockNumber', []))
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['pending', false] })
  const blockOf = async (gateway: GatewayProcess) => {
    const state = (await gateway.post(body)).headers.get(STATE_HEADER) ?? ''
    return state.startsWith('preconfirmed') ? Number(/block=(\d+)/.exec(state)?.[1]) : 0
  }
  for (const gateway of gateways) while (!((await blockOf(gateway)) > head + 1)) await sleep(50)
}

/** A proxy in front of the stream that counts listeners. */
async function countConnections(port: number): Promise<Server> {
  const server = createServer((socket) => {
    connections.add(socket)
    const target = connect(port, '127.0.0.1')
    const end = () => {
      connections.delete(socket)
      socket.destroy()
      target.destroy()
    }
    for (const side of [socket, target]) side.on('error', end).on('close', end)
    socket.pipe(target).pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

const askNumber = (gateway: GatewayProcess, minState: string) =>
  gateway.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber' }), { 'upfront-min-state': minState })

withRedis(
  `REDIS_URL${SERVER === undefined ? ' (skipped: neither redis-server nor valkey-server is installed)' : ''}`,
  () => {
    beforeAll(async () => {
      port = await freePort()
      await startRedis()
      devnet = await startDevnet({ flashblocksPort: 0, blockTimeSeconds: 2, payments: false })
      stream = await countConnections(Number(new URL(devnet.flashblocksUrl!).port))
      const environment = {
        UPSTREAM_RPC_URL: devnet.rpcUrl,
        REDIS_URL: `redis://127.0.0.1:${port}`,
        // Gas for three transfers.
        LIMITS: { callsPerSecond: 1_000, gasPerMinute: 63_000 },
        UPSTREAM_WS_URL: devnet.wsUrl,
        FOLLOW_HEAD: 'always',
        FLASHBLOCKS_WS_URL: `ws://127.0.0.1:${(stream.address() as AddressInfo).port}`,
        EVM_ENGINE: 'native',
      }
      gateways = await Promise.all([1, 2].map(() => startGatewayProcess(environment, { minStateWaitMs: 1_500 })))
    }, 120_000)
    afterAll(async () => {
      await Promise.all(gateways.map((gateway) => gateway.stop()))
      stream?.close()
      await devnet?.stop()
      await stopRedis()
    })

    it('one replica listens to the node and the stream, and passes both on to the other', async () => {
      await untilRoles('leads', 'follows')
      const before = await Promise.all(gateways.map((gateway) => gateway.metric('upfront_head_subscriptions')))
      expect(before.sort()).toEqual([0, 1])
      while (listeners() !== 1) await sleep(50)
      for (let block = 0; block < 3; block += 1) await followNext()
      await untilPendingMoves()
      expect(listeners()).toBe(1)
    }, 120_000)

    it('upfront-min-state: waits for the state that a client has seen, otherwise 503', async () => {
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
        const next = Number(await rpc<string>(devnet.rpcUrl, 'eth_blockNumber', [])) + 1
        const waiting = askNumber(gateway, `latest; block=${next}`)
        const answer = await waiting
        status = answer.status
        if (status === 200)
          expect(Number(((await answer.json()) as { result: string }).result)).toBeGreaterThanOrEqual(next)
      }
    }, 120_000)

    it('replicas count limits together', async () => {
      await untilLimitsAre('shared')
      let served = 0
      const isSpent = new Set<GatewayProcess>()
      while (isSpent.size < 2)
        for (const gateway of gateways)
          if ((await gateway.post(TRANSFER)).status === 200) served += 1
          else isSpent.add(gateway)
      // A replica learns from its own next call that a budget is used up.
      expect(served).toBeGreaterThanOrEqual(3)
      expect(served).toBeLessThanOrEqual(5)
    }, 120_000)

    it('replicas serve without Redis, each with its own limits, and share them once it is back', async () => {
      await stopRedis()
      await untilLimitsAre('local')
      for (const gateway of gateways) {
        expect([200, 429]).toContain((await gateway.post(TRANSFER)).status)
        expect((await fetch(`${gateway.url}/health/ready`)).status).toBe(200)
      }
      await untilRoles('alone', 'alone')
      await followNext()
      while (listeners() !== 2) await sleep(50)
      await untilPendingMoves()
      await startRedis()
      await untilLimitsAre('shared')
      await untilRoles('leads', 'follows')
      await followNext()
      while (listeners() !== 1) await sleep(50)
      await untilPendingMoves()
      for (const gateway of gateways) expect([200, 429]).toContain((await gateway.post(TRANSFER)).status)
    }, 120_000)

    it('another replica listens after the one that did is killed', async () => {
      const health = await untilRoles('leads', 'follows')
      // There are two leases, for heads and flashblocks: one gateway may hold both, or each holds one.
      const leader = gateways[health.findIndex(({ replica }) => replica?.flashblocks === 'leads')]!
      leader.process.kill('SIGKILL')
      gateways = gateways.filter((gateway) => gateway !== leader)
      await untilRoles('leads')
      while ((await gateways[0]!.metric('upfront_head_subscriptions')) !== 1) await sleep(50)
      while (listeners() !== 1) await sleep(50)
      await followNext()
      await untilPendingMoves()
    }, 120_000)
  },
)
