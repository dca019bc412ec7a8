import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from './free-port.js'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'

const shared = process.env.UPFRONT_SHARED ?? fileURLToPath(new URL('../../../../shared', import.meta.url))
const present = existsSync(`${shared}/conformance`)
const title = 'the recorded conformance cases'

async function runCases(url: string): Promise<string> {
  const args = [`${shared}/tools/run-conformance.mjs`, '--url', url]
  const run = promisify(execFile)(process.execPath, args)
  return run.then(({ stdout }) => stdout).catch((failed: { stdout: string }) => failed.stdout)
}

const suite = present ? describe : describe.skip
suite(present ? title : `${title} (skipped: no ../shared beside the repository, see UPFRONT_SHARED)`, () => {
  let upstream: ChildProcess
  let gateway: GatewayProcess | undefined
  let port: number

  beforeAll(async () => {
    port = await freePort()
    upstream = spawn(process.execPath, [`${shared}/tools/fixture-upstream.mjs`, '--port', String(port)])
    await once(upstream.stdout!, 'data')
  })
  afterEach(() => gateway?.stop())
  afterAll(() => {
    upstream?.kill()
  })

  it.each(['auto', 'ethereumjs'])('all match on engine %s', async (engine) => {
    gateway = await startGatewayProcess({ UPSTREAM_RPC_URL: `http://127.0.0.1:${port}`, EVM_ENGINE: engine })
    expect(await runCases(gateway.url)).toMatch(/^(\d+) of \1 cases match$/m)
  })

  it('all match with the chain told by its genesis file', async () => {
    const genesis = `${shared}/conformance/chain/genesis.json`
    gateway = await startGatewayProcess({ UPSTREAM_RPC_URL: `http://127.0.0.1:${port}`, CHAIN_GENESIS_FILE: genesis })
    expect(await runCases(gateway.url)).toMatch(/^(\d+) of \1 cases match$/m)
  })
})
