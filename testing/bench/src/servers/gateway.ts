import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Server, startServer } from './server.js'

const PROGRAM = fileURLToPath(new URL('../../../../apps/simulator-gateway/dist/main.js', import.meta.url))
const { scripts } = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'))
/** Node.js flags of `npm run start:gateway`. */
const FLAGS: string[] = scripts['start:gateway'].split(' ').filter((word: string) => word.startsWith('--'))

/** Our gateway on the given upstream, with limits out of the way. `env` takes precedence. */
export async function startGateway(
  upstream: string,
  env: Record<string, string> = {},
  flags: string[] = [],
): Promise<Server> {
  const args = [...FLAGS, ...flags, PROGRAM]
  const server = await startServer('upfront', process.execPath, args, /(http:\/\/127\.0\.0\.1:\d+)/, {
    UPSTREAM_RPC_URL: upstream,
    GATEWAY_PORT: '0',
    LIMITS: JSON.stringify({ callsPerSecond: 0, gas: 500_000_000, timeoutMs: 120_000 }),
    LOG_LEVEL: 'info',
    ...env,
  })
  for (const deadline = Date.now() + 30_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    if ((await fetch(`${server.url}/health/ready`)).ok) return server
    if (Date.now() > deadline) throw new Error('the gateway did not become ready')
  }
}
