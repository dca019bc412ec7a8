import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Anvil, startAnvil } from '@upfront/devnet'
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { WebSocket } from 'ws'
import { type GatewayProcess, startGateway } from './gateway-process.js'

const NUMBER = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId' })
const TRANSFER = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'eth_simulateV1',
  params: [{ blockStateCalls: [{ calls: [{ to: `0x${'11'.repeat(20)}` }] }] }, 'latest'],
})
const ISSUER = 'https://issuer.example'
const sha256 = (key: string) => createHash('sha256').update(key).digest('hex')

const folder = mkdtempSync(join(tmpdir(), 'upfront-keys-'))
let anvil: Anvil
let gateway: GatewayProcess
let issuer: Server
let signing: CryptoKey

beforeAll(async () => {
  const pair = await generateKeyPair('ES256')
  signing = pair.privateKey
  const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(pair.publicKey)), alg: 'ES256', kid: 'one' }] })
  issuer = createServer((_, response) => response.end(jwks)).listen(0, '127.0.0.1')
  const file = join(folder, 'keys.json')
  const keys = [
    { name: 'large', sha256: sha256('large-key'), callsPerSecond: 10_000 },
    // Gas for one transfer; `small` has gas for three.
    { name: 'one-call', sha256: sha256('one-call-key'), callsPerSecond: 10_000, gasPerMinute: 21_000 },
    { name: 'small', sha256: sha256('small-key'), callsPerSecond: 10_000, gasPerMinute: 63_000 },
  ]
  writeFileSync(file, JSON.stringify({ keys }))
  anvil = await startAnvil(['--port', '0'])
  gateway = await startGateway({
    UPSTREAM_RPC_URL: anvil.rpcUrl,
    LIMITS: { callsPerSecond: 10 },
    API_KEYS_FILE: file,
    JWT_JWKS_URL: `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/jwks.json`,
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: 'upfront',
  })
})
afterAll(async () => {
  await gateway?.stop()
  issuer?.close()
  issuer?.closeAllConnections()
  await anvil?.stop()
  rmSync(folder, { recursive: true })
})

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** A call with a wrong key counts against its address's rate limit: answers with 429 are skipped. */
async function refusedWith401(headers: Record<string, string>): Promise<Response> {
  for (;;) {
    const answer = await gateway.post(NUMBER, headers)
    if (answer.status !== 429) return answer
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

function token(
  claims: Record<string, unknown> = {},
  expires = '1h',
  key: CryptoKey | Uint8Array = signing,
  alg = 'ES256',
) {
  return new SignJWT({ iss: ISSUER, aud: 'upfront', sub: 'somebody', ...claims })
    .setProtectedHeader({ alg, kid: 'one' })
    .setExpirationTime(expires)
    .sign(key)
}

describe('API_KEYS_FILE', () => {
  it('gives each API key a budget of its own, sent as a bearer token or x-api-key', async () => {
    const burst = Array.from({ length: 60 }, (_, at) =>
      gateway.post(NUMBER, at % 2 === 0 ? bearer('large-key') : { 'x-api-key': 'large-key' }),
    )
    for (const { status } of await Promise.all(burst)) expect(status).toBe(200)
  })

  it('holds a key to its budget, independently of other keys', async () => {
    let answer = await gateway.post(TRANSFER, bearer('small-key'))
    let served = 0
    for (; answer.status === 200 && served < 20; served += 1) answer = await gateway.post(TRANSFER, bearer('small-key'))
    expect(answer.status).toBe(429)
    expect(await answer.json()).toMatchObject({ error: { message: expect.stringContaining('63000 gas') } })
    expect((await gateway.post(TRANSFER, bearer('large-key'))).status).toBe(200)
  })

  it('answers 401 to an unknown key and to other authorization schemes', async () => {
    for (const headers of [bearer('no-key'), { 'x-api-key': '' }, { authorization: 'Basic bGFyZ2U6a2V5' }]) {
      const answer = await refusedWith401(headers)
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(await answer.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32600 } })
    }
    expect((await fetch(`${gateway.url}/health/live`, { headers: bearer('no-key') })).status).toBe(200)
  })

  it('counts MCP tool calls towards the free budget of the key', async () => {
    const given = { from: `0x${'22'.repeat(20)}`, to: `0x${'11'.repeat(20)}` }
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'preview', arguments: given },
    })
    const ask = (headers: Record<string, string>) =>
      fetch(`${gateway.url}/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
        body,
      })
    const textOf = async (headers: Record<string, string>) => {
      const { result } = (await (await ask(headers)).json()) as { result: { content: { text: string }[] } }
      return result.content[0]?.text
    }
    expect(await textOf(bearer('one-call-key'))).toContain('"status":"success"')
    let refused = await textOf(bearer('one-call-key'))
    for (let left = 5; left > 0 && refused?.includes('success'); left -= 1)
      refused = await textOf(bearer('one-call-key'))
    expect(refused).toContain('21000 gas')
    expect(await textOf({ 'x-api-key': 'large-key' })).toContain('"status":"success"')
    expect([401, 429]).toContain((await ask(bearer('no-key'))).status)
  })

  it('accepts API keys on WebSocket upgrades and rejects unknown ones', async () => {
    const open = (key: string) =>
      new Promise<string>((resolve) => {
        const socket = new WebSocket(gateway.url.replace('http', 'ws'), { headers: { 'x-api-key': key } })
        socket.on('open', () => socket.send(NUMBER))
        socket.on('message', (data) => {
          resolve(String(data))
          socket.close()
        })
        socket.on('unexpected-response', (request, response) => {
          resolve(String(response.statusCode))
          request.destroy()
        })
        socket.on('error', () => undefined)
      })
    expect(await open('large-key')).toContain('"result":"0x7a69"')
    expect(['401', '429']).toContain(await open('no-key'))
  })
})

describe('JWT_JWKS_URL', () => {
  it('accepts a valid token', async () => {
    const answer = await refusedWith401(bearer(await token()))
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ result: '0x7a69' })])
  })

  it('answers 401 to a token that is expired or has a wrong audience, issuer, subject or signature', async () => {
    const other = await generateKeyPair('ES256')
    const secret = new TextEncoder().encode('x'.repeat(32))
    const wrong = [
      await token({}, '1 hour ago'),
      await token({ aud: 'another' }),
      await token({ iss: 'https://another.example' }),
      await token({ sub: undefined }),
      await token({ sub: '' }),
      await token({ sub: 7 as never }),
      await token({}, '1h', other.privateKey),
      await token({}, '1h', secret, 'HS256'),
      `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{"sub":"x","exp":9999999999}').toString('base64url')}.`,
    ]
    for (const text of wrong) expect((await refusedWith401(bearer(text))).status).toBe(401)
  })

  it('closes a WebSocket when its token expires', async () => {
    const headers = bearer(await token({}, '2s'))
    const socket = new WebSocket(gateway.url.replace('http', 'ws'), { headers })
    await once(socket, 'open')
    const [code, reason] = await once(socket, 'close')
    expect([code, String(reason)]).toEqual([1008, 'the token has expired'])
  })
})
