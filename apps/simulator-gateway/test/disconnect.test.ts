import { type Anvil, startAnvil } from '@upfront/devnet'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'
import { HOSTILE_PROGRAMS } from './programs.js'
import { TARGET } from './simulate-params.js'

let anvil: Anvil
let gateway: GatewayProcess

beforeAll(async () => {
  anvil = await startAnvil(['--port', '0'])
  gateway = await startGatewayProcess({
    UPSTREAM_RPC_URL: anvil.rpcUrl,
    FREE_GAS_CAP: '1000000000000',
    MAX_IN_FLIGHT: '1',
  })
})
afterAll(async () => {
  await gateway?.stop()
  await anvil?.stop()
})

it('stops the work of a client that has gone', async () => {
  const blockStateCalls = [
    {
      blockOverrides: { gasLimit: '0xffffffffff' },
      stateOverrides: { [TARGET]: { code: assemble(HOSTILE_PROGRAMS['endless loop']) } },
      calls: [{ to: TARGET }],
    },
  ]
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'eth_simulateV1',
    params: [{ blockStateCalls }, 'latest'],
  })
  const client = new AbortController()
  const headers = { 'content-type': 'application/json' }
  const gone = fetch(gateway.url, { method: 'POST', headers, body, signal: client.signal })
  await new Promise((resolve) => setTimeout(resolve, 500))
  client.abort()
  await expect(gone).rejects.toThrow()
  const started = performance.now()
  expect(await gateway.call('eth_chainId')).toMatchObject({ result: '0x7a69' })
  expect(performance.now() - started).toBeLessThan(5_000)
  expect(await gateway.metric('upfront_rpc_calls_total{method="eth_simulateV1",outcome="client_gone"}')).toBe(1)
  const before = await gateway.metric('process_cpu_seconds_total')
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  expect((await gateway.metric('process_cpu_seconds_total')) - before).toBeLessThan(0.5)
})
