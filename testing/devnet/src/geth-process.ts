import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Osaka's rules from the first block on. */
export const GETH_GENESIS: { config: Record<string, unknown>; alloc: Record<string, object> } = JSON.parse(
  readFileSync(fileURLToPath(new URL('../geth-genesis.json', import.meta.url)), 'utf8'),
)
export const GETH_START_TIMEOUT_MS = 30_000

/** A started geth, which may not answer yet. */
export interface GethProcess {
  child: ChildProcess
  /** Its data folder. */
  folder: string
  /** The end of its output. */
  said(): string
  stop(): Promise<void>
}

/** Starts an archive geth without peers, on a new chain in a temporary folder. */
export function runGeth(path: string, genesis: object, args: readonly string[]): GethProcess {
  const folder = mkdtempSync(join(tmpdir(), 'upfront-geth-'))
  const genesisFile = join(folder, 'genesis.json')
  writeFileSync(genesisFile, JSON.stringify(genesis))
  execFileSync(path, ['--datadir', folder, '--state.scheme=hash', 'init', genesisFile], { stdio: 'ignore' })
  const child = spawn(
    path,
    [
      ...['--datadir', folder, '--state.scheme=hash', '--gcmode=archive', '--rpc.gascap=50000000'],
      ...['--port=0', '--nodiscover', '--maxpeers=0', '--ipcdisable', '--history.logs.disable', ...args],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-20_000)
  })
  const exited = new Promise((resolve) => child.once('close', resolve))
  const killNow = () => child.kill('SIGKILL')
  process.once('exit', killNow)
  void exited.then(() => {
    process.off('exit', killNow)
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    child,
    folder,
    said: () => said,
    stop: async () => {
      killNow()
      await exited
    },
  }
}
