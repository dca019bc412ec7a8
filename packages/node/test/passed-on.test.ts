import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { passThrough } from '../src/pass-through.js'
import { UpstreamClient } from '../src/upstream-client.js'

const KEY = '0123456789abcdef0123456789abcdef'
const log = { address: `0x${'11'.repeat(20)}`, topics: [`0x${'22'.repeat(32)}`], data: `0x${'33'.repeat(64)}` }
const LOGS = JSON.stringify(Array(10_000).fill(log))

let server: Server
let client: UpstreamClient
let result = LOGS

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    response.end(`{"jsonrpc":"2.0","id":${JSON.parse(text).id},"result":${result}}`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  client = new UpstreamClient({
    urls: [`http://127.0.0.1:${(server.address() as AddressInfo).port}/${KEY}`],
    callTimeoutMs: 30_000,
  })
})
afterAll(async () => {
  await client.close()
  server.close()
})

const logs = (reserve?: (bytes: number) => void) =>
  passThrough(client, 'eth_getLogs', [{}], reserve === undefined ? {} : { reserve })

describe('passThrough', () => {
  it('returns a long result as the node wrote it, and any other as JSON.stringify writes it', async () => {
    for (const [written, given] of [
      [LOGS, LOGS],
      ['[ 1, "\\u0041" ]', '[1,"A"]'],
      [`["\\u0041",${LOGS}]`, `["A",${LOGS}]`],
      ['null', 'null'],
    ] as const) {
      result = written
      expect(await logs()).toBe(given)
    }
  })

  it('rejects a long result that contains a part of the URL or is not JSON', async () => {
    for (const [written, reason] of [
      [`["my key is ${KEY}",${LOGS}]`, 'withheld'],
      [`[${LOGS},]`, 'not JSON'],
    ] as const) {
      result = written
      await expect(logs()).rejects.toThrow(reason)
    }
  })

  it('rejects a result that nests too deeply to be written', async () => {
    result = '['.repeat(50_000) + ']'.repeat(50_000)
    await expect(logs()).rejects.toThrow('nests too deeply')
  })

  it('reserves memory before reading the result, and fails if there is none', async () => {
    result = LOGS
    let most = 0
    await logs((bytes) => {
      most = Math.max(most, bytes)
    })
    expect(most).toBeGreaterThanOrEqual(2 * LOGS.length)
    const refused = logs(() => {
      throw new Error('too little memory')
    })
    await expect(refused).rejects.toThrow('too little memory')
  })
})
