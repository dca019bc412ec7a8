import { connect } from 'node:net'
import { type Anvil, startAnvil } from '@upfront/devnet'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { HOSTILE_PROGRAMS } from './programs.js'
import { type BlockResult, callOf, TARGET } from './simulate-params.js'

let anvil: Anvil
let gateway: GatewayProcess
/** Allows a request one second. */
let hurried: GatewayProcess

beforeAll(async () => {
  anvil = await startAnvil(['--port', '0'])
  const LIMITS = { gas: 1_000_000_000_000, inFlight: 1 }
  gateway = await startGateway({ UPSTREAM_RPC_URL: anvil.rpcUrl, LIMITS })
  hurried = await startGateway({ UPSTREAM_RPC_URL: anvil.rpcUrl, LIMITS: { ...LIMITS, timeoutMs: 1_000 } })
})
afterAll(async () => {
  await hurried?.stop()
  await gateway?.stop()
  await anvil?.stop()
})

/** More clients than the engine has threads on small machines. */
const CLIENTS_THAT_GO = 6

it('stops the execution of clients that have disconnected', async () => {
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
  const headers = { 'content-type': 'application/json' }
  for (let count = 1; count <= CLIENTS_THAT_GO; count++) {
    const client = new AbortController()
    const gone = fetch(gateway.url, { method: 'POST', headers, body, signal: client.signal })
    await gateway.inFlight(1)
    client.abort()
    await expect(gone).rejects.toThrow()
    await gateway.inFlight(0)
    expect(await gateway.metric('upfront_rpc_calls_total{method="eth_simulateV1",outcome="client_gone"}')).toBe(count)
  }
  // Needs a thread of the engine: more gas than is run on the event loop.
  const loop = callOf(assemble('20000 @loop 1 SWAP1 SUB DUP1 >loop JUMPI STOP'))
  expect((await gateway.call<BlockResult[]>('eth_simulateV1', loop)).result?.[0]?.calls[0]).toMatchObject({
    status: '0x1',
  })
}, 120_000)

/** Short, except with the fee recipient that `outcome` tries. */
const STALLS = '0x4838b106fce9647bdf1e7877bf73ce8b0bad5f97 COINBASE EQ >loop JUMPI STOP @loop >loop JUMP'

it.each([
  [1, 'depends', HOSTILE_PROGRAMS['endless loop']],
  [2, 'outcome', STALLS],
])('stops an analysis (%i, %s) if its client disconnects or its time is up', async (count, flag, program) => {
  const blockStateCalls = [
    {
      blockOverrides: { gasLimit: '0xffffffffff' },
      stateOverrides: { [TARGET]: { code: assemble(program) } },
      calls: [{ to: TARGET }],
    },
  ]
  const params = [{ blockStateCalls, [flag]: true }, 'latest']
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'upfront_simulate', params })
  const headers = { 'content-type': 'application/json' }
  const metric = 'upfront_rpc_calls_total{method="upfront_simulate",outcome="client_gone"}'
  const client = new AbortController()
  const gone = fetch(gateway.url, { method: 'POST', headers, body, signal: client.signal })
  await gateway.inFlight(1)
  client.abort()
  await expect(gone).rejects.toThrow()
  await gateway.inFlight(0)
  expect(await gateway.metric(metric)).toBe(count)
  const { error } = await hurried.call('upfront_simulate', params)
  expect(error).toMatchObject({ code: -32005, message: expect.stringContaining('took longer than') })
  await hurried.inFlight(0)
})

it('logs no internal error if connections are reset', async () => {
  const limited = await startGateway({ UPSTREAM_RPC_URL: anvil.rpcUrl, LIMITS: { callsPerSecond: 50 } })
  const { hostname, port } = new URL(limited.url)
  const call = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
  const head = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n'
  const requests = [
    `${head}content-length: ${call.length}\r\n\r\n${call}`.repeat(10),
    `${head}origin: a\r\ncontent-length: ${call.length}\r\n\r\n${call}`,
    `${head}origin: a\r\ncontent-length: 200000\r\n\r\n${'x'.repeat(100_000)}`,
    `${head}transfer-encoding: chunked\r\n\r\nfff\r\nabc`,
  ]
  const reset = (text: string) =>
    new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname, () => socket.write(text, () => socket.resetAndDestroy()))
      socket.on('error', () => undefined).on('close', () => resolve())
    })
  for (const text of requests) await Promise.all(Array.from({ length: 100 }, () => reset(text)))
  expect((await fetch(`${limited.url}/health/live`)).status).toBe(200)
  await limited.stop()
  expect(limited.output()).not.toContain('internal error')
})
