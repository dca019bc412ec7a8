import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Anvil, startAnvil } from '@upfront/devnet'
import { AbiCoder, type BlockTag, JsonRpcProvider } from 'ethers'
import { concatHex, encodeErrorResult, parseAbi } from 'viem'
import { type GatewayProcess, startGateway } from './gateway-process.js'

// `pnpm --filter @upfront/simulator-gateway test:alloy`: alloy's provider takes minutes to build, so `npm test` leaves it out.
const withoutAlloy =
  process.env.ALLOY_CLIENT !== 'on'
    ? 'test:alloy tries it'
    : spawnSync('cargo', ['--version']).status !== 0
      ? 'there is no cargo'
      : undefined
const itWithAlloy = withoutAlloy === undefined ? it : it.skip
if (withoutAlloy !== undefined) console.log(`alloy's client is not tried: ${withoutAlloy}`)

const TARGET = '0x00000000000000000000000000000000000c0de5'
const REASON = encodeErrorResult({ abi: parseAbi(['error Error(string)']), args: ['not the owner'] })
/** Copies the reason that follows it into memory and reverts with it. */
const REVERTS = concatHex(['0x60', sized(REASON), '0x600a5f3960', sized(REASON), '0x5ffd', REASON])

/** Emits LOG1 with the topic 0x2a. */
const LOGS = '0x602a60006000a1'
const TOPIC = `0x${'2a'.padStart(64, '0')}`
const EMITTER = '0x0000000000000000000000000000000000e3177e'

function sized(bytes: `0x${string}`): `0x${string}` {
  return `0x${((bytes.length - 2) / 2).toString(16)}`
}

const go = [
  '/usr/local/go/bin/go',
  join(homedir(), 'go/bin/go'),
  ...(process.env.PATH ?? '').split(':').map((folder) => join(folder, 'go')),
].find(existsSync)
const itWithGo = go === undefined ? it.skip : it
if (go === undefined) console.log("go-ethereum's client is not tried: there is no go")

describe('POST /ethereum, for clients with typed decoders', () => {
  let anvil: Anvil
  let gateway: GatewayProcess

  beforeAll(async () => {
    anvil = await startAnvil(['--port', '0'])
    gateway = await startGateway({ UPSTREAM_RPC_URL: anvil.rpcUrl })
  })
  afterAll(async () => {
    await gateway?.stop()
    await anvil?.stop()
  })

  const payload = { blockStateCalls: [{ stateOverrides: { [TARGET]: { code: REVERTS } }, calls: [{ to: TARGET }] }] }

  it("answers in geth's shapes regardless of ?dialect=, unlike POST /", async () => {
    const post = async (path: string) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params: [payload] })
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body })
      expect(response.status).toBe(200)
      expect(response.headers.get('upfront-state')).toMatch(/^latest; block=/)
      return ((await response.json()) as { result: { calls: { error: unknown }[] }[] }).result[0]?.calls[0]?.error
    }
    const object = { code: 3, message: 'execution reverted: not the owner', data: REASON }
    expect(await post('/ethereum')).toEqual(object)
    expect(await post('/ethereum?dialect=upfront')).toEqual(object)
    expect(await post('/')).toBe('execution reverted: not the owner')
  })

  it('is named in rpc.discover and in the errors of GET requests and unknown paths', async () => {
    const { result } = await gateway.call<{ servers: { url: string; description: string }[] }>('rpc.discover')
    const ethereum = result?.servers.find(({ url }) => url === '/ethereum')
    for (const name of ['viem', 'ethers', 'alloy', 'go-ethereum', 'web3.py'])
      expect(ethereum?.description).toContain(name)
    for (const [path, status] of [
      ['/', 405],
      ['/ethereum', 405],
      ['/nothing', 404],
    ] as const) {
      const response = await fetch(`${gateway.url}${path}`)
      expect(response.status).toBe(status)
      expect(((await response.json()) as { error: { message: string } }).error.message).toContain('/ethereum')
    }
  })

  it("works with ethers' JsonRpcProvider", async () => {
    const provider = new JsonRpcProvider(`${gateway.url}/ethereum`, undefined, { staticNetwork: false })
    try {
      const block: BlockTag = 'latest'
      const [simulated] = await provider.send('eth_simulateV1', [payload, block])
      expect(simulated.calls[0].error).toEqual({ code: 3, message: 'execution reverted: not the owner', data: REASON })
      expect(AbiCoder.defaultAbiCoder().decode(['string'], `0x${simulated.calls[0].error.data.slice(10)}`)[0]).toBe(
        'not the owner',
      )
      expect((await provider.getNetwork()).chainId).toBe(31_337n)
      expect((await provider.getBlock('latest'))?.number).toBe(0)
      expect(await provider.getTransactionCount(TARGET, 'pending')).toBe(0)
    } finally {
      provider.destroy()
    }
  })

  itWithGo(
    "works with go-ethereum's client over HTTP and WebSocket",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'upfront-go-client-'))
      try {
        const source = fileURLToPath(new URL('./go-client', import.meta.url))
        const program = join(folder, 'client')
        execFileSync(go as string, ['build', '-o', program, '.'], { cwd: source, stdio: 'pipe' })
        const said = execFileSync(program, [`${gateway.url}/ethereum`, TARGET, REVERTS], {
          encoding: 'utf8',
          stdio: 'pipe',
        })
        const simulated = {
          calls: [
            { status: '0x0', error: { code: 3, message: 'execution reverted: not the owner', data: REASON } },
            { status: '0x1', gasUsed: '0x5208' },
          ],
          pending: 0,
          transactions: 0,
        }
        expect(JSON.parse(said)).toMatchObject(simulated)
        const socketUrl = `${gateway.url.replace('http', 'ws')}/ethereum`
        const subscribed = spawn(program, [socketUrl, TARGET, REVERTS, EMITTER], {
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        const provider = new JsonRpcProvider(anvil.rpcUrl)
        const lines: unknown[] = []
        for await (const line of createInterface(subscribed.stdout)) {
          lines.push(JSON.parse(line))
          if (lines.length !== 2) continue
          await provider.send('anvil_setCode', [EMITTER, LOGS])
          const [from] = await provider.send('eth_accounts', [])
          await provider.send('eth_sendTransaction', [{ from, to: EMITTER }])
        }
        const { hash, logs } = await provider.getBlock('latest').then(async (block) => ({
          hash: block?.hash,
          logs: await provider.getLogs({ address: EMITTER, fromBlock: 0 }),
        }))
        provider.destroy()
        const log = { address: EMITTER, topics: [TOPIC], transactionHash: logs[0]?.transactionHash, blockHash: hash }
        expect(lines).toMatchObject([simulated, { subscribed: true }, { head: hash, log }])
        expect(() => execFileSync(program, [gateway.url, TARGET, REVERTS], { stdio: 'pipe' })).toThrow(
          /cannot unmarshal/,
        )
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
    240_000,
  )
  itWithAlloy(
    "works with alloy's client",
    () => {
      const manifest = fileURLToPath(new URL('./alloy-client/Cargo.toml', import.meta.url))
      const client = (url: string) =>
        execFileSync('cargo', ['run', '--quiet', '--locked', '--manifest-path', manifest, '--', url, TARGET, REVERTS], {
          encoding: 'utf8',
          stdio: 'pipe',
        })
      expect(JSON.parse(client(`${gateway.url}/ethereum`))).toMatchObject({
        calls: [
          { status: '0x0', error: { code: 3, message: 'execution reverted: not the owner', data: REASON } },
          { status: '0x1', gasUsed: '0x5208' },
        ],
        simulated: 2,
        pending: 0,
        transactions: 0,
      })
      expect(() => client(gateway.url)).toThrow(/expected struct SimulateError/)
    },
    1_800_000,
  )
})
