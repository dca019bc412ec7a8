import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { DevnetAccount } from './accounts.js'

/** The account that geth's `--dev` funds; the whole world knows its key. */
export const GETH_DEVELOPER: DevnetAccount = {
  address: '0x71562b71999873DB5b286dF957af199Ec94617F7',
  privateKey: '0xb71c71a67e1177ad4e901695e1b4b9ee17ae16c6668d313eac2f96dbcda3f291',
}

const GENESIS = fileURLToPath(new URL('../geth-genesis.json', import.meta.url))
const START_TIMEOUT = 30_000

export interface Geth {
  rpcUrl: string
  pid: number
  stop(): Promise<void>
}

/** The path of a geth in `$GETH`, `PATH` or Go's usual folder; absent where none answers. */
export function findGeth(): string | undefined {
  const inPath = (process.env.PATH ?? '').split(':').map((folder) => join(folder, 'geth'))
  return [process.env.GETH, ...inPath, join(homedir(), 'go/bin/geth')].find((path): path is string => {
    if (!path || !existsSync(path)) return false
    try {
      return execFileSync(path, ['version'], { encoding: 'utf8' }).startsWith('Geth')
    } catch {
      return false
    }
  })
}

/**
 * Starts geth in development mode with the state of every block, on a chain of its own under Osaka's rules: what `--dev`
 * alone starts is a chain under rules of forks to come.
 * @param options.blockTimeSeconds between blocks; without it a block is made for each transaction
 * @param options.alloc accounts of the genesis beside its own: wei as a hex quantity, and code
 * @throws an `Error` with geth's own words where it can't start
 */
export async function startGeth(
  path: string,
  options: { blockTimeSeconds?: number; alloc?: Record<string, { balance: string; code?: string }> } = {},
): Promise<Geth> {
  const folder = mkdtempSync(join(tmpdir(), 'upfront-geth-'))
  const genesis = JSON.parse(readFileSync(GENESIS, 'utf8'))
  const genesisFile = join(folder, 'genesis.json')
  writeFileSync(genesisFile, JSON.stringify({ ...genesis, alloc: { ...genesis.alloc, ...options.alloc } }))
  execFileSync(path, ['--datadir', folder, '--state.scheme=hash', 'init', genesisFile], { stdio: 'ignore' })
  const child = spawn(
    path,
    [
      ...['--dev', '--datadir', folder],
      ...(options.blockTimeSeconds === undefined ? [] : [`--dev.period=${options.blockTimeSeconds}`]),
      ...['--http', '--http.port=0', '--http.api=eth,net,web3,debug', '--gcmode=archive', '--state.scheme=hash'],
      ...['--port=0', '--nodiscover', '--maxpeers=0', '--ipcdisable', '--authrpc.port=0', '--rpc.gascap=50000000'],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const exited = new Promise((resolve) => child.once('close', resolve))
  const killNow = () => child.kill('SIGKILL')
  process.once('exit', killNow)
  void exited.then(() => {
    process.off('exit', killNow)
    rmSync(folder, { recursive: true, force: true })
  })
  const stop = async () => {
    child.kill('SIGKILL')
    await exited
  }
  let said = ''
  const rpcUrl = await new Promise<string>((resolve, reject) => {
    const failed = (why: string) => reject(new Error(`geth ${why}:\n${said.slice(-2_000)}`))
    const timer = setTimeout(() => failed('did not start in time'), START_TIMEOUT)
    child.stderr.on('data', (chunk: Buffer) => {
      said = `${said}${chunk}`.slice(-20_000)
      const endpoint = /HTTP server started\s+endpoint=(\S+)/.exec(said)?.[1]
      if (!endpoint) return
      clearTimeout(timer)
      resolve(`http://${endpoint}`)
    })
    child.once('close', () => failed('ended'))
    child.once('error', (error) => failed(error.message))
  }).catch(async (error) => {
    await stop()
    throw error
  })
  return { rpcUrl, pid: child.pid as number, stop }
}
