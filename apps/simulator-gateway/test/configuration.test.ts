import { once } from 'node:events'
import { createServer } from 'node:net'
import { spawnGateway } from './gateway-process.js'

const UPSTREAM_RPC_URL = 'http://127.0.0.1:1'

async function failure(environment: Record<string, string>): Promise<{ code: number; output: string }> {
  const { child, output } = spawnGateway(environment)
  const [code] = (await once(child, 'close')) as [number]
  return { code, output: output() }
}

describe('start with an invalid configuration', () => {
  it('exits with code 1 and names every bad variable', async () => {
    const { code, output } = await failure({
      GATEWAY_PORT: '-1',
      EVM_ENGINE: 'geth',
      LIMITS: '{"callsPerSecond": "fast", "bodyBytes": 1e9, "speed": 1}',
      MAX_JSON_VALUES: '5',
    })
    expect(code).toBe(1)
    for (const name of [
      'UPSTREAM_RPC_URL',
      'GATEWAY_PORT',
      'EVM_ENGINE',
      'LIMITS.callsPerSecond',
      'LIMITS.bodyBytes',
      'LIMITS.speed',
    ]) {
      expect(output).toMatch(new RegExp(`^  ${name}: `, 'm'))
    }
    expect(output).toContain('  MAX_JSON_VALUES: has been removed: it is always 300000')
    expect(output).not.toContain('    at ')
  })

  it('names the port in use and GATEWAY_PORT', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    const { code, output } = await failure({ UPSTREAM_RPC_URL, GATEWAY_PORT: String(port) })
    taken.close()
    expect(code).toBe(1)
    expect(output).toContain(`port ${port}`)
    expect(output).toContain('GATEWAY_PORT')
  })

  it('names GATEWAY_HOST if the address is not local', async () => {
    const { code, output } = await failure({ UPSTREAM_RPC_URL, GATEWAY_HOST: '192.0.2.1' })
    expect(code).toBe(1)
    expect(output).toContain('GATEWAY_HOST')
  })
})

it('--help lists the settings, and a misspelt variable is reported with the likely one', async () => {
  const { child, output } = spawnGateway({}, { options: ['--help'] })
  expect(await once(child, 'close')).toEqual([0, null])
  expect(output()).toMatch(/^Needed:\n {2}UPSTREAM_RPC_URL\n\nUsual:\n(?: {2}.*\n)* {2}LIMITS +\{"callsPerSecond":50,/m)
  const started = await failure({ GATEWAY_PROT: '5' })
  expect(started.output).toContain('GATEWAY_PROT is not a setting: did you mean GATEWAY_PORT?')
})
