import { once } from 'node:events'
import { connect } from 'node:net'
import { type Anvil, type FaultProxy, startAnvil, startFaultProxy } from '@upfront/devnet'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'

let anvil: Anvil
let upstream: FaultProxy
let gateway: GatewayProcess

beforeAll(async () => {
  anvil = await startAnvil(['--port', '0'])
})
beforeEach(async () => {
  upstream = await startFaultProxy(anvil.rpcUrl)
})
afterEach(async () => {
  await gateway?.stop()
  await upstream?.stop()
})
afterAll(() => anvil?.stop())

const CALL = [
  { blockStateCalls: [{ calls: [{ to: '0x0000000000000000000000000000000000000004', data: '0x01' }] }] },
  'latest',
]
const ended = () => once(gateway.process, 'close') as Promise<[number | null, NodeJS.Signals | null]>

describe.each(['SIGTERM', 'SIGINT'] as const)('shutdown on %s', (signal) => {
  it('finishes requests in flight, accepts no new ones and exits with 0', async () => {
    gateway = await startGatewayProcess({ UPSTREAM_RPC_URL: upstream.url })
    await gateway.call('eth_simulateV1', CALL)
    upstream.fault = 'slow'
    upstream.slowMs = 2_000
    const inFlight = gateway.call<unknown[]>('eth_simulateV1', CALL)
    await gateway.inFlight(1)
    const end = ended()
    gateway.process.kill(signal)
    const refused = () =>
      fetch(`${gateway.url}/health/live`).then(
        () => false,
        () => true,
      )
    while (!(await refused())) await new Promise((resolve) => setTimeout(resolve, 20))
    expect((await inFlight).result).toHaveLength(1)
    expect(await end).toEqual([0, null])
  })

  it('cuts off requests that exceed SHUTDOWN_TIMEOUT_MS', async () => {
    gateway = await startGatewayProcess({ UPSTREAM_RPC_URL: upstream.url, SHUTDOWN_TIMEOUT_MS: '300' })
    await gateway.call('eth_simulateV1', CALL)
    upstream.fault = 'silent'
    const inFlight = gateway.call('eth_simulateV1', CALL).then(
      () => 'answered',
      () => 'cut off',
    )
    await gateway.inFlight(1)
    const end = ended()
    gateway.process.kill(signal)
    expect(await inFlight).toBe('cut off')
    expect(await end).toEqual([0, null])
  })
})

it('shutdown is immediate without requests in flight, despite kept-alive connections', async () => {
  gateway = await startGatewayProcess({ UPSTREAM_RPC_URL: upstream.url })
  await gateway.call('eth_simulateV1', CALL)
  await gateway.stop()
  expect(gateway.output()).not.toContain('cut off')
})

it('shutdown does not wait for a connection without a request', async () => {
  gateway = await startGatewayProcess({ UPSTREAM_RPC_URL: upstream.url })
  const { hostname, port } = new URL(gateway.url)
  const silent = connect(Number(port), hostname)
  silent.on('error', () => undefined)
  await once(silent, 'connect')
  await gateway.call('eth_simulateV1', CALL)
  const end = ended()
  gateway.process.kill('SIGTERM')
  expect(await end).toEqual([0, null])
  expect(gateway.output()).not.toContain('cut off')
})
