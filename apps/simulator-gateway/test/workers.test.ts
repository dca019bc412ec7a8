import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Anvil, startAnvil } from '@upfront/devnet'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'

const TRANSFER = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'eth_simulateV1',
  params: [{ blockStateCalls: [{ calls: [{ to: `0x${'11'.repeat(20)}` }] }] }, 'latest'],
})

let anvil: Anvil
let gateway: GatewayProcess
beforeAll(async () => {
  anvil = await startAnvil(['--port', '0'])
  gateway = await startGatewayProcess({
    UPSTREAM_RPC_URL: anvil.rpcUrl,
    GATEWAY_WORKERS: '2',
    LIMITS: { callsPerSecond: 1_000, gasPerMinute: 63_000 },
    // Gas for three transfers.
  })
}, 120_000)
afterAll(async () => {
  await gateway?.stop()
  await anvil?.stop()
})

/** On a new connection: connections go to the workers in turn. */
const ask = (body: string) => gateway.post(body, { connection: 'close' })

function workers(): number[] {
  const { pid } = gateway.process
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return children === '' ? [] : children.split(' ').map(Number)
}

const onLinux = process.platform === 'linux' ? describe : describe.skip

onLinux('GATEWAY_WORKERS (skipped without /proc)', () => {
  it('share one port and one free budget, and export the metrics of all', async () => {
    expect(workers()).toHaveLength(2)
    let served = 0
    while ((await ask(TRANSFER)).status === 200) served += 1
    // A worker learns from its own next call that a budget is used up.
    expect(served).toBeGreaterThanOrEqual(3)
    expect(served).toBeLessThanOrEqual(5)
    expect(await gateway.metric('upfront_rpc_calls_total{method="eth_simulateV1",outcome="ok"}')).toBe(served)
  })

  it('are restarted if killed', async () => {
    const [first, second] = workers()
    process.kill(first!, 'SIGKILL')
    while (workers().length !== 2 || workers().includes(first!)) await sleep(50)
    expect(workers()).toContain(second)
    const chainId = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId' })
    for (let count = 0; count < 4; count += 1) {
      const answer = await ask(chainId).then((response) => response.status)
      expect([200, 429]).toContain(answer)
    }
  })

  it('end with the main process', async () => {
    const pids = workers()
    gateway.process.kill('SIGTERM')
    const [code] = await once(gateway.process, 'exit')
    expect(code).toBe(0)
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })
})
