import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Anvil, type FaultProxy, freePort, startAnvil, startFaultProxy } from '@upfront/devnet'
import { UpstreamClient } from '@upfront/node'
import { ChainMismatch, type ChainRulesOptions, fetchChainRules, rulesAt } from '../src/index.js'
import { RECORDINGS } from './recorded-chain.js'

const NOW = 1_800_000_000n

async function rulesOf(url: string, options: ChainRulesOptions = {}) {
  const client = new UpstreamClient({ urls: [url] })
  try {
    return await fetchChainRules(client, options)
  } finally {
    await client.close()
  }
}

describe('fetchChainRules from anvil', () => {
  const running: { anvil: Anvil; proxy: FaultProxy }[] = []
  async function start(hardfork: string, chainId = 31337): Promise<FaultProxy> {
    const anvil = await startAnvil(['--port', '0', '--hardfork', hardfork, '--chain-id', String(chainId)])
    const proxy = await startFaultProxy(anvil.rpcUrl)
    running.push({ anvil, proxy })
    return proxy
  }
  afterAll(async () => {
    for (const { anvil, proxy } of running) {
      await proxy.stop()
      await anvil.stop()
    }
  })

  it.each(['cancun', 'prague', 'osaka'])('finds %s by eth_config', async (fork) => {
    const rules = await rulesOf((await start(fork)).url)
    expect(rules).toMatchObject({ chainId: 31337n, stack: 'ethereum', source: 'eth_config' })
    expect(rulesAt(rules, 1n, NOW)?.fork).toBe(fork)
  })

  it('infers the fork from the head header if the node lacks eth_config', async () => {
    const proxy = await start('cancun')
    proxy.lacks.add('eth_config')
    const rules = await rulesOf(proxy.url)
    expect(rules.source).toBe('inferred')
    expect(rulesAt(rules, 1n, NOW)?.fork).toBe('cancun')
  })

  it('prefers debug_chainConfig to eth_config, which lacks earlier forks', async () => {
    const proxy = await start('osaka')
    const config = {
      chainId: 31337,
      terminalTotalDifficulty: 0,
      shanghaiTime: 0,
      cancunTime: 0,
      pragueTime: 1_000,
      osakaTime: 2_000,
    }
    proxy.lies = ({ method }) => (method === 'debug_chainConfig' ? config : undefined)
    const rules = await rulesOf(proxy.url)
    expect(rules).toMatchObject({ stack: 'ethereum', source: 'debug_chainConfig' })
    expect([999n, 1_000n, 2_000n].map((time) => rulesAt(rules, 1n, time)?.fork)).toEqual(['cancun', 'prague', 'osaka'])
  })

  it('uses the rules of a known chain id, with the configured block time', async () => {
    const proxy = await start('osaka', 8453)
    const rules = await rulesOf(proxy.url, { blockTime: 7n })
    expect(rules).toMatchObject({
      chainId: 8453n,
      stack: 'optimism',
      source: 'known-chain',
      schedule: { blockTime: 7n },
    })
  })

  it('refuses a genesis file of another chain', async () => {
    const proxy = await start('osaka')
    const genesis = { config: { chainId: 5, terminalTotalDifficulty: 0, shanghaiTime: 0 } }
    await expect(rulesOf(proxy.url, { genesis })).rejects.toThrow(ChainMismatch)
    const own = { config: { ...genesis.config, chainId: 31337 } }
    expect(await rulesOf(proxy.url, { genesis: own })).toMatchObject({ source: 'genesis-file' })
  })

  it('rejects, and does not infer rules, if the node fails', async () => {
    const proxy = await start('osaka')
    proxy.fault = 'http-500'
    await expect(rulesOf(proxy.url)).rejects.toMatchObject({ code: -32603, data: { upstream: proxy.host } })
  })
})

describe('fetchChainRules from recorded chains', () => {
  const children: ChildProcess[] = []
  async function serve(tool: string, ...args: string[]): Promise<string> {
    const port = await freePort()
    const child = spawn(process.execPath, [join(RECORDINGS, 'tools', tool), ...args, '--port', String(port)])
    children.push(child)
    await once(child.stdout, 'data')
    return `http://127.0.0.1:${port}`
  }
  afterAll(() => {
    for (const child of children) child.kill()
  })

  it('finds Ethereum’s fork and blob schedule by eth_config', async () => {
    const rules = await rulesOf(await serve('fixture-upstream.mjs'))
    expect(rules).toMatchObject({ source: 'eth_config', stack: 'ethereum' })
    expect(rulesAt(rules, 55n, 550n)).toEqual({
      fork: 'osaka',
      blob: { target: 14, max: 21, baseFeeUpdateFraction: 11_684_671n },
    })
  })

  it('finds OP-stack rules by the genesis file, debug_chainConfig or the head header', async () => {
    const chain = join(RECORDINGS, 'conformance-op/chain')
    const genesis: unknown = JSON.parse(readFileSync(join(chain, 'genesis.json'), 'utf8'))
    const plain = await serve('fixture-upstream-op.mjs', '--chain', chain)
    const telling = await serve('fixture-upstream-op.mjs', '--chain', chain, '--debug-config')
    for (const [rules, source] of [
      [await rulesOf(plain, { genesis }), 'genesis-file'],
      [await rulesOf(telling), 'debug_chainConfig'],
      [await rulesOf(plain), 'inferred'],
    ] as const) {
      expect(rules).toMatchObject({ source, stack: 'optimism', chainId: 7770777n, schedule: { blockTime: 2n } })
      expect(rulesAt(rules, 31n, NOW)?.opFork).toBe('jovian')
    }
  })
})
