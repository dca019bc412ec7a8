import { EnvironmentError } from '@upfront/service'
import { readGatewayEnvironment } from './environment.js'

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
  it('needs nothing but the upstream', () => {
    const environment = readGatewayEnvironment(valid)
    expect(environment.UPSTREAM_RPC_URL).toEqual(['http://127.0.0.1:8545'])
    expect(environment.GATEWAY_PORT).toBe(8080)
    expect(environment.GATEWAY_HOST).toBe('127.0.0.1')
    expect(environment.EVM_ENGINE).toBe('auto')
    expect(environment.FREE_RATE_LIMIT).toBe(50)
    expect(environment.FREE_GAS_CAP).toBe(50_000_000)
    expect(environment.CHAIN_GENESIS_FILE).toBeUndefined()
  })

  it('takes several upstreams, and `off` for the rate limit', () => {
    const environment = readGatewayEnvironment({
      UPSTREAM_RPC_URL: 'http://a:1, https://b/key',
      FREE_RATE_LIMIT: 'off',
    })
    expect(environment.UPSTREAM_RPC_URL).toEqual(['http://a:1', 'https://b/key'])
    expect(environment.FREE_RATE_LIMIT).toBe(0)
  })

  it('takes an empty variable for unset', () => {
    expect(readGatewayEnvironment({ ...valid, GATEWAY_PORT: '' }).GATEWAY_PORT).toBe(8080)
  })

  it('names every bad variable at once', () => {
    const found = problems({
      GATEWAY_PORT: '80800',
      EVM_ENGINE: 'geth',
      LOG_LEVEL: 'loud',
      FREE_GAS_CAP: '-1',
      BLOCK_TIME_SECONDS: '0x2',
      CHAIN_GENESIS_FILE: '/nowhere/genesis.json',
      PASSTHROUGH_METHODS: 'eth_call,eth_sendRawTransaction',
    })
    expect(found.map((problem) => problem.split(':')[0]).sort()).toEqual([
      'BLOCK_TIME_SECONDS',
      'CHAIN_GENESIS_FILE',
      'EVM_ENGINE',
      'FREE_GAS_CAP',
      'GATEWAY_PORT',
      'LOG_LEVEL',
      'PASSTHROUGH_METHODS',
      'UPSTREAM_RPC_URL',
    ])
    expect(found).toContain('GATEWAY_PORT: must not be greater than 65535')
  })

  it('never repeats an upstream URL, which may hold a key', () => {
    expect(problems({ UPSTREAM_RPC_URL: 'https://ok/,ftp://secret' })).toEqual([
      'UPSTREAM_RPC_URL: entry 2 is not an http(s) URL',
    ])
  })
})
