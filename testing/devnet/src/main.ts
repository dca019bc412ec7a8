#!/usr/bin/env node
import { startDevnet } from './devnet.js'
import { misspelt, SETTINGS } from './settings.js'

/** Reads an integer between `least` and `most` from the environment; otherwise prints an error and exits. */
function readInteger(name: string, least: number, most: number): number | undefined {
  const text = process.env[name]
  if (text === undefined || text === '') return undefined
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= most) return value
  console.error(`${name}: expected a whole number from ${least} to ${most}, got ${JSON.stringify(text)}`)
  process.exit(1)
}

for (const warning of misspelt(process.env)) console.error(warning)
if (process.argv.includes('--help')) {
  const lines = Object.entries(SETTINGS).map(([name, value]) => `  ${name.padEnd(25)}  ${value}`)
  console.log('A local chain for development and tests. Settings are environment variables; these are their defaults:')
  console.log(lines.join('\n'))
  process.exit(0)
}

const port = readInteger('DEVNET_PORT', 0, 65_535) ?? 8545
const blockTimeSeconds = readInteger('DEVNET_BLOCK_TIME_SECONDS', 1, 3_600)
const flashblocksPort = readInteger('DEVNET_FLASHBLOCKS_PORT', 0, 65_535)
const host = process.env.DEVNET_HOST || '127.0.0.1'

try {
  const devnet = await startDevnet({
    port,
    host,
    ...(blockTimeSeconds === undefined ? {} : { blockTimeSeconds }),
    ...(flashblocksPort === undefined ? {} : { flashblocksPort }),
    optimism: process.env.DEVNET_OPTIMISM === '1',
  })
  let stopping = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      stopping = true
      void devnet.stop()
    })
  console.log(`devnet: listening on ${devnet.rpcUrl}, chain id ${devnet.chainId}`)
  if (devnet.flashblocksUrl !== undefined) console.log(`devnet: flashblocks at ${devnet.flashblocksUrl}`)
  const { code, signal } = await devnet.exited
  if (!stopping) {
    console.error(`devnet: anvil ended unexpectedly (${signal ?? `exit code ${code}`})`)
    process.exit(1)
  }
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  const [variable, taken] = message.includes(`:${flashblocksPort}`)
    ? ['DEVNET_FLASHBLOCKS_PORT', flashblocksPort]
    : ['DEVNET_PORT', port]
  const inUse = /address already in use/i.test(message)
  console.error(inUse ? `devnet: port ${taken} is in use: set ${variable} to another one` : `devnet: ${message}`)
  process.exit(1)
}
