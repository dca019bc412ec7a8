import { EnvironmentError, settingsHelp } from '@upfront/service'
import { Environment, readGatewayEnvironment } from './environment.js'
import { DEFAULT_LIMITS } from './limits.js'

const valid = { UPSTREAM_RPC_URL: 'http://127.0.0.1:8545' }

function problems(variables: Record<string, string>): readonly string[] {
  try {
    readGatewayEnvironment(variables)
  } catch (error) {
    if (error instanceof EnvironmentError) return error.problems
    throw error
  }
  return []
}

describe('readGatewayEnvironment', () => {
  it('requires only UPSTREAM_RPC_URL and has defaults for the rest', () => {
    const environment = readGatewayEnvironment(valid)
    expect(environment.UPSTREAM_RPC_URL).toEqual(['http://127.0.0.1:8545'])
    expect(environment.GATEWAY_PORT).toBe(8080)
    expect(environment.GATEWAY_HOST).toBe('127.0.0.1')
    expect(environment.EVM_ENGINE).toBe('auto')
    expect(environment.LIMITS).toMatchObject({ callsPerSecond: 50, gas: 50_000_000, connections: 10_000 })
    expect(environment.CHAIN_GENESIS_FILE).toBeUndefined()
  })

  it('parses several upstream URLs and merges LIMITS with its defaults', () => {
    const environment = readGatewayEnvironment({
      UPSTREAM_RPC_URL: 'http://a:1, https://b/key',
      LIMITS: '{"callsPerSecond": 0}',
    })
    expect(environment.UPSTREAM_RPC_URL).toEqual(['http://a:1', 'https://b/key'])
    expect(environment.LIMITS).toMatchObject({ callsPerSecond: 0, gas: 50_000_000 })
  })

  it('treats an empty variable as unset', () => {
    expect(readGatewayEnvironment({ ...valid, GATEWAY_PORT: '' }).GATEWAY_PORT).toBe(8080)
  })

  it('reports every bad variable in one error', () => {
    const found = problems({
      GATEWAY_PORT: '80800',
      EVM_ENGINE: 'geth',
      LOG_LEVEL: 'loud',
      LIMITS: '{"gas": -1, "paidTimeoutMs": 200000}',
      BLOCK_TIME_SECONDS: '0x2',
      CHAIN_GENESIS_FILE: '/nowhere/genesis.json',
      PASSTHROUGH_METHODS: 'eth_call,eth_sendRawTransaction',
    })
    expect(found.map((problem) => problem.split(':')[0]).sort()).toEqual([
      'BLOCK_TIME_SECONDS',
      'CHAIN_GENESIS_FILE',
      'EVM_ENGINE',
      'GATEWAY_PORT',
      'LIMITS.gas',
      'LIMITS.paidTimeoutMs',
      'LOG_LEVEL',
      'PASSTHROUGH_METHODS',
      'UPSTREAM_RPC_URL',
    ])
    expect(found).toContain('LIMITS.paidTimeoutMs: expected a whole number from 10 to 120000')
    expect(found).toContain('GATEWAY_PORT: must not be greater than 65535')
  })

  it('names the replacement of a removed setting without showing a key', () => {
    const key = `0x${'42'.repeat(32)}`
    expect(problems({ ...valid, MAX_JSON_VALUES: '5', RECEIPT_KEY: key })).toEqual([
      'MAX_JSON_VALUES: has been removed: it is always 300000',
      'RECEIPT_KEY: has been removed: put the key into a file, {"key": "0x…"}, and set RECEIPT_KEYS_FILE',
    ])
  })

  it('reads removed variables as LIMITS fields, with LIMITS taking precedence', () => {
    const old = { FREE_RATE_LIMIT: 'off', MAX_CALLS: '7', REQUEST_TIMEOUT_MS: '900', LIMITS: '{"calls": 9}' }
    const { LIMITS } = readGatewayEnvironment({ ...valid, ...old })
    expect(LIMITS).toEqual({ ...DEFAULT_LIMITS, callsPerSecond: 0, calls: 9, timeoutMs: 900 })
    expect(problems({ ...valid, FREE_GAS_CAP: 'much' })).toEqual(['LIMITS.gas: expected a whole number from 21000 on'])
  })

  it.each(['[]', '5', 'null', '{'])('rejects LIMITS=%s', (LIMITS) => {
    expect(problems({ ...valid, LIMITS })).toEqual(['LIMITS: expected a JSON object such as {"callsPerSecond": 500}'])
  })

  it.each([
    [{}, 'UPSTREAM_WS_URL or FLASHBLOCKS_WS_URL, to see transactions'],
    [{ UPSTREAM_WS_URL: 'ws://a', FOLLOW_HEAD: 'off' }, 'blocks: FOLLOW_HEAD must be on'],
  ])('rejects TRUTH_SCORE=on without a setting that it needs: %j', (others, lacking) => {
    expect(problems({ ...valid, ...others, TRUTH_SCORE: 'on' })).toEqual([`TRUTH_SCORE: needs ${lacking} (got "on")`])
  })

  it('has at most 40 settings', () => {
    const help = settingsHelp(Environment)
    expect(help.match(/^ {2}[A-Z]/gm)?.length).toBeLessThanOrEqual(40)
  })

  it('never repeats an upstream URL in an error, because it may hold a key', () => {
    expect(problems({ UPSTREAM_RPC_URL: 'https://ok/,ftp://secret' })).toEqual([
      'UPSTREAM_RPC_URL: entry 2 is not an http(s) URL',
    ])
  })

  it.each(['JWT_JWKS_URL', 'OTEL_EXPORTER_OTLP_ENDPOINT'])('never repeats %s in an error', (variable) => {
    const reported = problems({ ...valid, [variable]: 'htp://user:hunter2@host' })
    expect(reported).toContainEqual(expect.stringMatching(`^${variable}: `))
    expect(reported.join()).not.toContain('hunter2')
  })
})
