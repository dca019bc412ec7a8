import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { DevnetAccount } from './accounts.js'
import { GETH_GENESIS, GETH_START_TIMEOUT_MS, runGeth } from './geth-process.js'

/** The account that geth's `--dev` funds; its key is public. */
export const GETH_DEVELOPER: DevnetAccount = {
  address: '0x71562b71999873DB5b286dF957af199Ec94617F7',
  privateKey: '0xb71c71a67e1177ad4e901695e1b4b9ee17ae16c6668d313eac2f96dbcda3f291',
}

export interface Geth {
  rpcUrl: string
  pid: number
  stop(): Promise<void>
}

/** Path of a working geth in `$GETH`, `PATH` or Go's default folder; absent if there is none. */
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
 * Starts an archive geth in development mode on a new chain with Osaka's rules. `--dev` alone would enable future forks.
 * @param options.blockTimeSeconds between blocks; by default a block is made per transaction
 * @param options.alloc further genesis accounts: wei as a hex quantity, and code
 * @throws Error with geth's output, if it can't start
 */
export async function startGeth(
  path: string,
  options: { blockTimeSeconds?: number; alloc?: Record<string, { balance: string; code?: string }> } = {},
): Promise<Geth> {
  const genesis = { ...GETH_GENESIS, alloc: { ...GETH_GENESIS.alloc, ...options.alloc } }
  const { child, said, stop } = runGeth(path, genesis, [
    ...['--dev', '--http', '--http.port=0', '--http.api=eth,net,web3,debug', '--authrpc.port=0'],
    ...(options.blockTimeSeconds === undefined ? [] : [`--dev.period=${options.blockTimeSeconds}`]),
  ])
  const rpcUrl = await new Promise<string>((resolve, reject) => {
    const failed = (why: string) => reject(new Error(`geth ${why}:\n${said().slice(-2_000)}`))
    const timer = setTimeout(() => failed('did not start in time'), GETH_START_TIMEOUT_MS)
    child.stderr?.on('data', () => {
      const endpoint = /HTTP server started\s+endpoint=(\S+)/.exec(said())?.[1]
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
