import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Anvil, startAnvil } from '@upfront/devnet'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'
import { HOSTILE_PROGRAMS } from './programs.js'
import { callOf, TARGET } from './simulate-params.js'

// What one client sends, and whether another is served in the meantime. `npm run bench:attack` measures the times.
// Unread answers, slow bodies and connection limits: limits.test.ts. Resets: disconnect.test.ts.
const MEMORY = 2 ** 30
const ATTACKER = '127.0.1.1'
const BYSTANDER = '127.0.0.2'
const TRANSFER = rpc([{ blockStateCalls: [{ calls: [{ to: `0x${'ab'.repeat(20)}` }] }] }, 'latest'])

let anvil: Anvil
let gateway: GatewayProcess

beforeAll(async () => {
  anvil = await startAnvil(['--port', '0'])
  gateway = await startGatewayProcess({
    UPSTREAM_RPC_URL: anvil.rpcUrl,
    LIMITS: { callsPerSecond: 50, timeoutMs: 60_000 },
    MEMORY_LIMIT_BYTES: String(MEMORY),
  })
})
afterAll(async () => {
  await gateway?.stop()
  await anvil?.stop()
})

function rpc(params: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params })
}

/** Posts from the given address. @returns status 0 if the connection is closed */
function post(body: string, localAddress: string): Promise<{ status: number; start: string }> {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve) => {
    const sent = request(gateway.url, { method: 'POST', localAddress, headers }, (response) => {
      let start = ''
      response.on('data', (chunk: Buffer) => {
        if (start.length < 200) start += chunk.toString('latin1', 0, 200)
      })
      response.on('close', () => resolve({ status: response.statusCode ?? 0, start }))
    })
    sent.on('error', () => resolve({ status: 0, start: '' }))
    sent.end(body)
  })
}

/** Sends transfers of the bystander until the attack is over. @returns how many; all must be answered */
async function servedBeside(attack: Promise<unknown>): Promise<number> {
  let isOver = false
  const over = attack.finally(() => {
    isOver = true
  })
  let served = 0
  while (!isOver) {
    const { status, start } = await post(TRANSFER, BYSTANDER)
    expect([status, start]).toEqual([200, expect.stringContaining('"result"')])
    served += 1
    // Within a client's rate limit.
    await sleep(25)
  }
  await over
  return served
}

const from = (client: string, count: number, body: string) =>
  Promise.all(Array.from({ length: count }, () => post(body, client)))

/** The process's peak resident memory. */
function maxResident(): number {
  const [, kibibytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${gateway.process.pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) * 1024
}

describe('one attacking client does not keep another from being served', () => {
  it('while it requests answers of 20 MiB', async () => {
    const code = assemble('0x100000 0 RETURN')
    const blockStateCalls = [{ stateOverrides: { [TARGET]: { code } }, calls: Array(20).fill({ to: TARGET }) }]
    const attack = from(ATTACKER, 12, rpc([{ blockStateCalls }, 'latest']))
    expect(await servedBeside(attack)).toBeGreaterThan(0)
    for (const { status } of await attack) expect([200, 503]).toContain(status)
  }, 120_000)

  it('while it runs loops of 50M gas', async () => {
    const attack = from(ATTACKER, 12, rpc(callOf(assemble(HOSTILE_PROGRAMS['endless loop']))))
    expect(await servedBeside(attack)).toBeGreaterThan(0)
    for (const { status } of await attack) expect([200, 503]).toContain(status)
  }, 120_000)

  it('while twenty addresses run deep frames that each use memory', async () => {
    const deep = rpc(callOf(assemble('1 0x20000 MSTORE 0 0 0 0 0 ADDRESS GAS CALL')))
    const attack = Promise.all(Array.from({ length: 20 }, (_, index) => post(deep, `127.0.2.${index + 1}`)))
    expect(await servedBeside(attack)).toBeGreaterThan(0)
    for (const { status } of await attack) expect(status).toBe(200)
    expect(await gateway.metric('upfront_requests_ended_for_memory_total')).toBe(0)
  }, 120_000)

  it('while it sends bodies of 60,000 overrides', async () => {
    const address = (n: number) => `0x${n.toString(16).padStart(40, '0')}`
    const stateOverrides = Object.fromEntries(
      Array.from({ length: 60_000 }, (_, n) => [address(n + 1), { balance: '0x1' }]),
    )
    const attack = from(
      ATTACKER,
      3,
      rpc([{ blockStateCalls: [{ stateOverrides, calls: [{ to: TARGET }] }] }, 'latest']),
    )
    expect(await servedBeside(attack)).toBeGreaterThan(3)
    // They wait for memory.
    for (const { status } of await attack) expect(status).toBe(200)
  }, 120_000)

  it('and the gateway stays within its memory limit', () => {
    expect(maxResident()).toBeLessThan(MEMORY)
    expect(gateway.output()).not.toContain('internal error')
  })
})

it('unfinished bodies take at most half of the memory, which is released when they close', async () => {
  const capacity = 48 * 2 ** 20
  const small = await startGatewayProcess({ UPSTREAM_RPC_URL: anvil.rpcUrl, MEMORY_LIMIT_BYTES: String(256 * 2 ** 20) })
  const { hostname, port } = new URL(small.url)
  const sockets: Socket[] = []
  try {
    let refused = 0
    const lines = ['POST / HTTP/1.1', 'host: x', 'content-type: application/json', 'content-length: 1000000', '', '']
    for (let index = 0; index < 60; index += 1) {
      const socket = connect({ port: Number(port), host: hostname, localAddress: ATTACKER })
      sockets.push(socket)
      socket
        .on('error', () => undefined)
        .once('data', () => {
          refused += 1
        })
      socket.write(`${lines.join('\r\n')}${'x'.repeat(900_000)}`)
    }
    // One client never holds more than what is left, so about 23 of them.
    while (refused < 20) await sleep(20)
    const held = await small.metric('upfront_held_bytes')
    expect(held).toBeLessThanOrEqual(capacity / 2 + 61 * 16_384)
    expect(await small.call('eth_chainId')).toMatchObject({ result: '0x7a69' })
    for (const socket of sockets) socket.destroy()
    while ((await small.metric('upfront_held_bytes')) > 100_000) await sleep(20)
  } finally {
    for (const socket of sockets) socket.destroy()
    await small.stop()
  }
})
