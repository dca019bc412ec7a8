import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { quantile } from '../measure/load.js'
import { startAnvilNode } from '../servers/anvil.js'
import { startGateway } from '../servers/gateway.js'
import { residentBytes } from '../servers/process-usage.js'
import { formatTable } from '../table.js'
import { ATTACKS, type Attack } from './attacks.js'
import { type BystanderResult, measureBystander } from './bystander.js'

const HELP = `npm run bench:attack -- [options]
Latencies of a small client on another address during each attack, and the gateway's peak memory.
  --only a,b         of ${ATTACKS.map(({ name }) => name).join(', ')}
  --seconds 20       of each
  --memory ${2 ** 30}  MEMORY_LIMIT_BYTES of the gateway`

const ATTACKER = fileURLToPath(new URL('attacker.js', import.meta.url))
const WORST_P99_MS = 250

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    seconds: { type: 'string', default: '20' },
    memory: { type: 'string', default: String(2 ** 30) },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}
const names = options.only?.split(',')
const memory = Number(options.memory)

interface Outcome extends BystanderResult {
  /** The gateway's peak resident memory, bytes. */
  resident: number
}

/** Measures a bystander during each attack, on a new gateway with default limits. */
async function measureAttacks(attack: Attack, node: string): Promise<Outcome> {
  await attack.before?.(node)
  const gateway = await startGateway(node, {
    LIMITS: '{}',
    MEMORY_LIMIT_BYTES: String(memory),
    ...(attack.isFollowing && { UPSTREAM_WS_URL: node.replace('http', 'ws'), FOLLOW_HEAD: 'always' }),
  })
  let resident = 0
  const look = setInterval(() => {
    try {
      resident = Math.max(resident, residentBytes(gateway.pid))
    } catch {
      resident = Number.POSITIVE_INFINITY
    }
  }, 50)
  const attacker = fork(ATTACKER, [attack.name, gateway.url, node])
  try {
    const suffering = await measureBystander(gateway.url, AbortSignal.timeout(Number(options.seconds) * 1_000))
    return { ...suffering, resident }
  } finally {
    clearInterval(look)
    attacker.kill('SIGKILL')
    await gateway.stop()
  }
}

const node = await startAnvilNode()
const rows: string[][] = []
let missed = 0
try {
  for (const attack of ATTACKS.filter(({ name }) => names?.includes(name) ?? true)) {
    console.error(`${attack.name} …`)
    const { latencies, refused, resident } = await measureAttacks(attack, node.url)
    const p99 = quantile(latencies, 0.99)
    const refusals = [...refused].map(([refusal, count]) => `${count} × ${refusal}`).join(', ')
    const isMet = p99 <= WORST_P99_MS && refused.size === 0 && resident < memory
    if (!isMet) missed += 1
    rows.push([
      attack.name,
      attack.title,
      String(latencies.length),
      quantile(latencies, 0.5).toFixed(0),
      p99.toFixed(0),
      refusals || '0',
      `${Math.round(resident / 2 ** 20)}`,
      isMet ? 'yes' : 'NO',
    ])
  }
} finally {
  await node.stop()
}
console.log(formatTable(['attack', 'what', 'answered', 'median ms', 'p99 ms', 'refused', 'MiB', 'met'], rows))
process.exitCode = missed === 0 ? 0 : 1
