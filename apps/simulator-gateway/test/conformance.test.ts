import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '@upfront/devnet'
import { type GatewayProcess, startGateway } from './gateway-process.js'

const recordings = fileURLToPath(new URL('../../../testing/recordings', import.meta.url))

async function runCases(url: string): Promise<string> {
  const args = [`${recordings}/tools/run-conformance.mjs`, '--url', url]
  const run = promisify(execFile)(process.execPath, args)
  return run.then(({ stdout }) => stdout).catch((failed: { stdout: string }) => failed.stdout)
}

describe('recorded conformance cases', () => {
  let upstream: ChildProcess
  let gateway: GatewayProcess | undefined
  let port: number

  beforeAll(async () => {
    port = await freePort()
    upstream = spawn(process.execPath, [`${recordings}/tools/fixture-upstream.mjs`, '--port', String(port)])
    await once(upstream.stdout!, 'data')
  })
  afterEach(() => gateway?.stop())
  afterAll(() => {
    upstream?.kill()
  })

  it.each(['auto', 'portable'])('all match on engine %s', async (engine) => {
    gateway = await startGateway({ UPSTREAM_RPC_URL: `http://127.0.0.1:${port}`, EVM_ENGINE: engine })
    expect(await runCases(gateway.url)).toMatch(/^(\d+) of \1 cases match$/m)
  })

  it('all match with the chain given by CHAIN_GENESIS_FILE', async () => {
    const genesis = `${recordings}/conformance/chain/genesis.json`
    gateway = await startGateway({ UPSTREAM_RPC_URL: `http://127.0.0.1:${port}`, CHAIN_GENESIS_FILE: genesis })
    expect(await runCases(gateway.url)).toMatch(/^(\d+) of \1 cases match$/m)
  })
})
