import type { NestFastifyApplication } from '@nestjs/platform-fastify'
import { Test } from '@nestjs/testing'
import { createLogger } from '@upfront/service'
import type { Simulation, SimulationAnswer } from '@upfront/simulation'
import { AppModule } from './app.module.js'
import { readGatewayEnvironment } from './environment/environment.js'
import { createAdapter } from './gateway.js'
import { PaidSimulator } from './paid/paid-simulator.js'
import { Simulator } from './simulate/simulator.js'

let app: NestFastifyApplication
let url: string
afterEach(() => app?.close())

const simulator = {
  rehearsals: 0,
  warmUp() {
    this.rehearsals += 1
    throw new Error('aborted due to timeout')
  },
  simulate: (...[, , , work]: Parameters<Simulator['simulate']>) =>
    work({ json: '["simulated"]' } as SimulationAnswer, {} as Simulation, undefined),
}

/** Starts the gateway without a node: the simulator is the stub above. */
async function start(variables: Record<string, string> = {}): Promise<string[]> {
  const environment = readGatewayEnvironment({
    UPSTREAM_RPC_URL: 'http://127.0.0.1:1',
    EVM_ENGINE: 'portable',
    ...variables,
  })
  const lines: string[] = []
  const logger = createLogger({ level: 'info', destination: { write: (line) => lines.push(line) } })
  const testing = await Test.createTestingModule({ imports: [AppModule.forRoot(environment, logger)] })
    .overrideProvider(Simulator)
    .useValue(simulator)
    .compile()
  app = testing.createNestApplication<NestFastifyApplication>(createAdapter(environment), { bodyParser: false })
  await app.listen(0, '127.0.0.1')
  url = await app.getUrl()
  return lines
}

/** The `Origin` header makes the fast front hand the request to the controller. */
const post = (body: object) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: 'https://wallet.example' },
    body: JSON.stringify(body),
  })

it('answers POST / through the controller, with metrics and rate limits', async () => {
  await start({ LIMITS: '{"callsPerSecond": 1}' })
  const call = { jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params: [] }
  const answered = await post(call)
  expect([answered.status, await answered.json()]).toEqual([200, { jsonrpc: '2.0', id: 1, result: ['simulated'] }])
  expect(answered.headers.get('x-request-id')).toMatch(/^[\w-]+$/)
  let refused = await post(call)
  while (refused.status !== 429) refused = await post(call)
  expect(await refused.json()).toMatchObject({ id: null, error: { code: -32005 } })
  const body = await (await fetch(`${url}/metrics`)).text()
  expect(body).toContain('upfront_rpc_calls_total{method="eth_simulateV1",outcome="ok"}')
  expect(body).toContain('upfront_refused_requests_total{status="429"}')
})

it('runs a simulation at start-up and does not log its failure as an internal error', async () => {
  const before = simulator.rehearsals
  const lines = await start()
  expect(simulator.rehearsals).toBe(before + 1)
  expect(lines.filter((line) => line.includes('aborted due to timeout'))).toHaveLength(1)
  expect(lines.join()).not.toContain('internal error')
})

it('provides PaidSimulator only if BILLING_URL is set', async () => {
  await start({
    BILLING_URL: 'http://127.0.0.1:1',
    BILLING_TOKEN: 'a token',
    NETWORK: 'eip155:8453',
    ASSET: `0x${'11'.repeat(20)}`,
    PAY_TO: `0x${'22'.repeat(20)}`,
  })
  expect(app.get(PaidSimulator, { strict: false })).toBeInstanceOf(PaidSimulator)
  await app.close()
  await start()
  expect(() => app.get(PaidSimulator, { strict: false })).toThrow()
})
