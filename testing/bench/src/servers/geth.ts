import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Server, startServer } from './server.js'

const VERSION = 'v1.17.8'

/** Path of geth, built by `go install` if Go is available; undefined otherwise. */
export function findGeth(): string | undefined {
  if (spawnSync('go', ['version']).status !== 0) return undefined
  const path = join(execFileSync('go', ['env', 'GOPATH'], { encoding: 'utf8' }).trim(), 'bin', 'geth')
  if (existsSync(path)) return path
  console.log(`Building geth ${VERSION} (a few minutes, once) …`)
  const built = spawnSync('go', ['install', `github.com/ethereum/go-ethereum/cmd/geth@${VERSION}`], {
    stdio: 'inherit',
  })
  return built.status === 0 && existsSync(path) ? path : undefined
}

/**
 * Starts geth's development chain in memory, without limits on simulations: a block per transaction or, with a
 * `period`, one every this many seconds. WebSockets use the same port.
 */
export function startGeth(path: string, period = 0): Promise<Server> {
  const closed = ['--port=0', '--nodiscover', '--maxpeers=0', '--ipcdisable', '--authrpc.port=0']
  const http = ['--http', '--http.port=0', '--http.api=eth,net,web3,debug', '--ws', '--ws.port=0']
  const limits = ['--rpc.gascap=0', '--rpc.evmtimeout=0', '--dev.gaslimit=60000000']
  // The anvil fork stays at its block, whose state must be kept.
  const archive = period > 0 ? ['--gcmode=archive', '--state.scheme=hash'] : []
  const args = ['--dev', `--dev.period=${period}`, ...archive, ...closed, ...http, ...limits]
  return startServer('geth', path, args, /HTTP server started\s+endpoint=(\S+)/)
}
