// `npm start`: installs and builds what is missing, then runs a local chain and the services until Ctrl-C.
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { build } from './build.mjs'
import { root } from './install.mjs'
import { endAll, onEnd, start } from './processes.mjs'
import { chooseServices, dataFolder, saleDetails } from './services.mjs'

const HELP = `npm start runs a local chain, the gateway and billing until Ctrl-C.

  UPSTREAM_RPC_URL           your own node instead of the local chain
  GATEWAY_PORT               8080
  BILLING_PORT               8081
  DEVNET_PORT                8545
  DEVNET_FLASHBLOCKS_PORT    8546
  DEVNET_OPTIMISM            1: the local chain is an OP-stack chain
  DEVNET_BLOCK_TIME_SECONDS  2 with a stream of flashblocks
  EVM_ENGINE                 auto, native or portable

All settings of the services apply too: npm run start:gateway -- --help, npm run start:billing -- --help.`

/** A busy machine may take long, so start waits as long as the process lives, and reports at this interval. */
const SAY_WAITING_EVERY = 30_000
/** How long a service that listens but has a problem, for example an unreachable node, may take to recover. */
const READY_TIMEOUT = 10_000
const NOT_LISTENING = 'it does not listen'
const startedAt = Date.now()
let ending = false

onEnd(async (reason) => {
  ending = true
  if (reason !== 'output closed') console.log('\nStopping …')
  await endAll()
  process.exit(0)
})

if (process.argv.includes('--help')) {
  console.log(HELP)
  process.exit(0)
}
try {
  const services = chooseServices()
  const logs = join(dataFolder(), 'logs')
  await Promise.all(services.flatMap((service) => service.ports.map((port) => demandFreePort(service, port))))
  await build()
  mkdirSync(join(root, logs), { recursive: true })
  for (const service of services) await startService(service, logs)
  console.log(farewell(services, logs, await saleDetails(services)))
} catch (error) {
  await fail(error.message)
}

/** Prints the reason, stops everything and exits. */
async function fail(message) {
  if (ending) return
  ending = true
  console.error(`\nError: ${message}`)
  await endAll()
  process.exit(1)
}

/** @throws Error that names the port and the variable that changes it */
async function demandFreePort({ host, title }, { port, variable }) {
  const probe = createServer()
  try {
    await new Promise((resolve, reject) => probe.once('error', reject).listen({ port, host, exclusive: true }, resolve))
  } catch (error) {
    const free = `${variable}=${port + 1000 > 65_535 ? port - 1000 : port + 1000} npm start`
    const why = error.code === 'EADDRINUSE' ? 'is in use' : `can't be opened (${error.code})`
    throw new Error(`port ${port} of the ${title} ${why}: set ${variable} to another one, e.g. \`${free}\``)
  } finally {
    probe.close()
  }
}

/** Resolves when the service answers. From then on, its exit stops everything. */
async function startService(service, logs) {
  const { name, title, program, flags = [], url } = service
  process.stdout.write(`Starting the ${title} … `)
  const log = openSync(join(root, logs, `${name}.log`), 'w')
  // The user's variables take precedence over those that connect the services; an empty one counts as unset.
  const set = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== ''))
  const env = { ...(await service.environment()), ...set }
  const child = start(process.execPath, [...flags, program], { cwd: root, env, stdio: ['ignore', log, log] })
  closeSync(log)
  let ended = false
  child.exited.then(({ code, signal, error }) => {
    ended = true
    const how = error?.message ?? (signal ? `was ended by ${signal}` : `ended with exit code ${code}`)
    const last = readFileSync(join(root, logs, `${name}.log`), 'utf8')
      .trimEnd()
      .split('\n')
      .slice(-15)
      .join('\n  ')
    return fail(`the ${title} ${how}. The end of ${logs}/${name}.log:\n  ${last}`)
  })
  const began = Date.now()
  let said = began
  for (;;) {
    const problem = await service.problem().catch(() => NOT_LISTENING)
    if (ended || ending) await new Promise(() => {})
    if (problem === undefined) {
      console.log(url)
      const log = readFileSync(join(root, logs, `${name}.log`), 'utf8')
      for (const [warning] of log.matchAll(/^\w+ is not a setting: did you mean .*$/gm)) console.log(`  ${warning}`)
      return
    }
    const listens = problem !== NOT_LISTENING
    if (listens && Date.now() - began > READY_TIMEOUT) return console.log(`${url}, but it is not ready: ${problem}`)
    if (Date.now() - said > SAY_WAITING_EVERY) {
      said = Date.now()
      process.stdout.write(`\n  not ready after ${Math.round((said - began) / 1000)} s, see ${logs}/${name}.log … `)
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function farewell(services, logs, sale) {
  const gateway = services.at(-1)
  const request = {
    jsonrpc: '2.0',
    id: 1,
    method: 'eth_simulateV1',
    params: [
      {
        blockStateCalls: [
          {
            stateOverrides: { '0xc000000000000000000000000000000000000000': { balance: '0xde0b6b3a7640000' } },
            calls: [
              {
                from: '0xc000000000000000000000000000000000000000',
                to: '0xc100000000000000000000000000000000000000',
                value: '0x2386f26fc10000',
              },
            ],
          },
        ],
        traceTransfers: true,
      },
      'pending',
    ],
  }
  const width = Math.max(...services.map(({ title }) => title.length))
  return [
    '',
    `Ready after ${((Date.now() - startedAt) / 1000).toFixed(1)} s. Ctrl-C ends it; logs are in ${logs}.`,
    '',
    `Look before you sign: ${gateway.url}/console`,
    '',
    ...services.map(({ title, url }) => `  ${title.padEnd(width)}  ${url}`),
    ...(process.env.UPSTREAM_RPC_URL ? ['  upstream: UPSTREAM_RPC_URL'] : []),
    '',
    'Simulate a transfer:',
    '',
    `curl -s ${gateway.url} -H 'content-type: application/json' -d '${JSON.stringify(request)}'`,
    '',
    `Typed clients (viem, ethers, alloy) use ${gateway.url}/ethereum, which answers in geth's format:`,
    '',
    `  viem         createPublicClient({ transport: http('${gateway.url}/ethereum') })`,
    `  ethers       new JsonRpcProvider('${gateway.url}/ethereum')`,
    `  alloy        ProviderBuilder::new().connect_http("${gateway.url}/ethereum".parse()?)`,
    `  go-ethereum  ethclient.Dial("${gateway.url}/ethereum")`,
    `  web3.py      Web3(Web3.HTTPProvider("${gateway.url}/ethereum"))`,
    '',
    ...(services.some(({ name }) => name === 'billing')
      ? [`Pay for a simulation: \`${withPorts('npm run demo', ['GATEWAY_HOST', 'GATEWAY_PORT', 'DEVNET_PORT'])}\``, '']
      : []),
    ...sale,
    ...(services.some(({ name }) => name === 'devnet')
      ? [
          `Watch the block under construction: \`${withPorts('npm run watch', ['GATEWAY_HOST', 'GATEWAY_PORT', 'DEVNET_FLASHBLOCKS_PORT'])}\``,
          '',
        ]
      : []),
  ].join('\n')
}

/** The command, prefixed by the variables set for this stand, so that it finds the stand. */
function withPorts(command, variables) {
  const set = variables.filter((name) => process.env[name]).map((name) => `${name}=${process.env[name]} `)
  return set.join('') + command
}
