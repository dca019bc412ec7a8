import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Address, Hash } from '@upfront/protocol'
import { rulesAt } from '@upfront/simulation'
import { ChainState } from '../src/index.js'

const geth = findGeth()
if (geth === undefined) console.warn('real-geth: not tried, there is no geth in PATH, ~/go/bin or $GETH')
const withGeth = geth === undefined ? describe.skip : describe

const BOB: Address = '0x00000000000000000000000000000000000b0b00'
const LATEST = { kind: 'tag', tag: 'latest' } as const
const PENDING = { kind: 'tag', tag: 'pending' } as const
const signal = new AbortController().signal

withGeth('a real geth as upstream', () => {
  let node: { url: string; stop(): void }
  let chain: ChainState
  const lacking: string[] = []

  beforeAll(async () => {
    node = await startGeth(geth as string)
    chain = new ChainState({ urls: [node.url], observer: { onWorkaround: ({ lacks }) => void lacking.push(lacks) } })
  }, 30_000)
  afterAll(async () => {
    await chain.close()
    node.stop()
  })

  async function rpc<T>(method: string, ...params: unknown[]): Promise<T> {
    return (await chain.passThrough(method, params)) as T
  }

  it('tells its rules, and needs no workaround', async () => {
    const rules = await chain.rules()
    expect(rules).toMatchObject({ source: 'eth_config', chainId: 1337n })
    expect(rulesAt(rules, 1n, 1_800_000_000n)?.fork).toBe('osaka')
    const state = chain.stateSource(await chain.resolve(LATEST))
    expect(await state.read([{ kind: 'balance', address: BOB }], signal)).toEqual([0n])
    expect(lacking).toEqual([])
  })

  it('refuses unknown blocks', async () => {
    const hash: Hash = `0x${'11'.repeat(32)}`
    const unknown = { code: -32000, message: expect.stringMatching(/^header not found: /) }
    await expect(chain.resolve({ kind: 'hash', hash, requireCanonical: false })).rejects.toMatchObject(unknown)
    await expect(chain.resolve({ kind: 'number', number: 9_999n })).rejects.toMatchObject(unknown)
  })

  it('offers a pending block: its time, and its state', async () => {
    const [from] = await rpc<Address[]>('eth_accounts')
    const before = (await chain.head()).number
    await rpc('eth_sendTransaction', { from, to: BOB, value: '0x7' })
    const balance = async (parameter: typeof LATEST | typeof PENDING) =>
      chain.onBlock(parameter, { signal }, async (block) => ({
        block,
        values: await chain.stateSource(block).read([{ kind: 'balance', address: BOB }], signal),
      }))
    const until = performance.now() + 8_000
    let pending = await balance(PENDING)
    while (pending.values[0] !== 7n && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 200))
      pending = await balance(PENDING)
    }
    expect(pending.values).toEqual([7n])
    expect(pending.block.opening?.timestamp).toBeGreaterThan(pending.block.header.timestamp)
    expect(pending.block.header.number).toBe(before)
    expect((await balance(LATEST)).values).toEqual([0n])
  }, 15_000)
})

function findGeth(): string | undefined {
  const inPath = (process.env.PATH ?? '').split(':').map((folder) => join(folder, 'geth'))
  const candidates = [process.env.GETH, ...inPath, join(homedir(), 'go/bin/geth')]
  return candidates.find((path): path is string => {
    if (path === undefined || !existsSync(path)) return false
    try {
      return execFileSync(path, ['version'], { encoding: 'utf8' }).startsWith('Geth')
    } catch (error) {
      console.warn(`real-geth: ${path} does not run: ${String(error)}`)
      return false
    }
  })
}

/** In dev mode with a block a minute, so that there is something pending; every port is free. */
async function startGeth(path: string): Promise<{ url: string; stop(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'upfront-geth-'))
  const args = ['--dev', '--dev.period', '60', '--datadir', folder, '--ipcdisable', '--nodiscover', '--port', '0']
  const child: ChildProcess = spawn(
    path,
    [...args, '--http', '--http.port', '0', '--http.api', 'eth,debug,web3', '--authrpc.port', '0'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const stop = () => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
  const endpoint = await new Promise<string>((resolve, reject) => {
    let said = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      said += said.length < 64_000 ? chunk.toString() : ''
      const match = /HTTP server started\s+endpoint=(\S+)\s+auth=false/.exec(said)
      if (match?.[1] !== undefined) resolve(match[1])
    })
    child.once('close', () => reject(new Error(`geth ended: ${said.slice(-500)}`)))
  })
  return { url: `http://${endpoint}`, stop }
}
