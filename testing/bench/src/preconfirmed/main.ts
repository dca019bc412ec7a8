import { parseArgs } from 'node:util'
import {
  DEVNET_ACCOUNTS,
  type FlashblockMessage,
  flashblocksOf,
  rpc,
  startDevnet,
  startFaultProxy,
  startStreamServer,
  swapRouterAbi,
} from '@upfront/devnet'
import { Pool } from 'undici'
import { createWalletClient, encodeFunctionData, type Hex, http, numberToHex, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { quantile } from '../measure/load.js'
import { startGateway } from '../servers/gateway.js'
import { cpuMilliseconds } from '../servers/process-usage.js'
import { formatTable } from '../table.js'

const TRANSACTIONS = 100
const COLD_BLOCKS = 12
const NODE_MS = 5
const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '30' }, help: { type: 'boolean', default: false } },
})
if (options.help) {
  console.log(
    `npm run bench:preconfirmed -- [--rounds 30]\nHow long until pending shows a flashblock of 100 transactions.`,
  )
  process.exit(0)
}
const rounds = Number(options.rounds)

console.error(`Building ${COLD_BLOCKS} blocks of ${TRANSACTIONS} transactions …`)
const devnet = await startDevnet({
  payments: false,
  uniswap: true,
  anvilArgs: ['--order', 'fifo'],
})
const { uniswap } = devnet
if (!uniswap) throw new Error('no swap contracts')
await rpc(devnet.rpcUrl, 'evm_setAutomine', [false])
const first = BigInt(await rpc<Hex>(devnet.rpcUrl, 'eth_blockNumber', []))
const deployer = devnet.accounts.deployer
const swap = encodeFunctionData({
  abi: swapRouterAbi,
  functionName: 'swapV3',
  args: [uniswap.poolV3, uniswap.token0, parseEther('1'), 0n, deployer.address],
})
const senders = [deployer, ...DEVNET_ACCOUNTS.filter(({ address }) => address !== deployer.address)]
const nonces = new Map<string, number>()
for (const { address } of senders)
  nonces.set(address, Number(await rpc<Hex>(devnet.rpcUrl, 'eth_getTransactionCount', [address, 'latest'])))
const blocks: FlashblockMessage[][] = []
for (let block = 0; block < COLD_BLOCKS; block++) {
  // A tenth are swaps of one sender, the rest transfers to new accounts.
  for (let i = 0; i < TRANSACTIONS; i++) {
    const sender = i % 10 === 0 ? deployer : senders[1 + (i % (senders.length - 1))]
    if (!sender) throw new Error('no sender')
    const nonce = nonces.get(sender.address) ?? 0
    nonces.set(sender.address, nonce + 1)
    const account = privateKeyToAccount(sender.privateKey)
    const wallet = createWalletClient({ account, transport: http(devnet.rpcUrl) })
    const fee = { chain: null, nonce, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1n } as const
    if (i % 10 === 0) await wallet.sendTransaction({ ...fee, to: uniswap.router, data: swap, gas: 400_000n })
    else
      await wallet.sendTransaction({
        ...fee,
        to: numberToHex(10n ** 30n + BigInt(block * 1_000 + i), { size: 20 }),
        value: 1n,
        gas: 21_000n,
      })
  }
  await rpc(devnet.rpcUrl, 'evm_mine', [])
  blocks.push(await flashblocksOf(devnet.rpcUrl, first + BigInt(block) + 1n, { perFlashblock: TRANSACTIONS }))
}

const node = await startFaultProxy(devnet.rpcUrl)
node.cap = first
node.latencyMs = NODE_MS
const stream = await startStreamServer({ port: 0, encoding: 'json' })
const gateway = await startGateway(node.url, { FLASHBLOCKS_WS_URL: stream.url, FLASHBLOCKS_SILENCE_MS: '600000' })
const pool = new Pool(gateway.url, { connections: 4 })
try {
  while ((await metric('upfront_preconfirmed_connected')) !== 1) await new Promise((resolve) => setTimeout(resolve, 50))
  const cold: number[] = []
  for (const [i, messages] of blocks.slice(0, -1).entries()) {
    node.cap = first + BigInt(i)
    while ((await pendingHeader()) !== `latest; block=${node.cap}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    cold.push(await untilVisible(messages))
  }
  const last = blocks.at(-2) ?? []
  const warm: number[] = []
  for (let round = 0; round < rounds; round++) {
    const payload_id = `0x${(round + 1).toString(16).padStart(16, 'f')}`
    warm.push(await untilVisible(last.map((message) => ({ ...message, payload_id }))))
  }
  const times = (values: number[]) => [quantile(values, 0.5), quantile(values, 0.99)].map((ms) => ms.toFixed(1))
  console.log(`Milliseconds until pending shows a flashblock of ${TRANSACTIONS} transactions\n`)
  console.log(
    formatTable(
      ['', 'median', 'p99', 'target', ''],
      [
        ['its state read before', ...times(warm), '≤ 50', verdict(quantile(warm, 0.5) <= 50)],
        [`cold, the node ${NODE_MS} ms away`, ...times(cold), '≤ 150', verdict(quantile(cold, 0.5) <= 150)],
      ],
    ),
  )
  const call = { from: deployer.address, to: uniswap.router, data: swap }
  const cpu = { latest: [] as number[], pending: [] as number[] }
  for (let round = 0; round < 5; round++)
    for (const tag of ['latest', 'pending'] as const) {
      const used = await cpuPerSimulation(call, tag)
      if (round > 0) cpu[tag].push(used)
    }
  const [onLatest, onPending] = [quantile(cpu.latest, 0.5), quantile(cpu.pending, 0.5)]
  const ratio = onPending / onLatest
  console.log(
    `\nA v3 swap: ${onLatest.toFixed(3)} ms of CPU on latest, ${onPending.toFixed(3)} on pending, ratio ${ratio.toFixed(2)} (target ≤ 1.15: ${verdict(ratio <= 1.15)})`,
  )
} finally {
  await pool.close()
  await gateway.stop()
  await stream.stop()
  await node.stop()
  await devnet.stop()
}

/** Sends a block's first flashblock and waits for it, then its transactions. @returns the time until `pending` shows them */
async function untilVisible([opening, transactions]: FlashblockMessage[]): Promise<number> {
  if (!opening || !transactions) throw new Error('a block of two flashblocks is needed')
  stream.send(JSON.stringify(opening))
  const shown = (index: number) => `flashblock=${index}; age=`
  while (!(await pendingHeader()).includes(opening.payload_id)) await new Promise((resolve) => setTimeout(resolve, 1))
  const text = JSON.stringify(transactions)
  const sent = performance.now()
  stream.send(text)
  for (;;) {
    const header = await pendingHeader()
    if (header.includes(shown(1)) && header.includes(opening.payload_id)) return performance.now() - sent
  }
}

async function ask(method: string, params: unknown[]) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json' }
  const response = await pool.request({ path: '/', method: 'POST', headers, body })
  return { header: String(response.headers['upfront-state'] ?? ''), text: await response.body.text() }
}

/** The state of an empty simulation on `pending`. */
async function pendingHeader(): Promise<string> {
  return (await ask('eth_simulateV1', [{ blockStateCalls: [{}] }, 'pending'])).header
}

async function cpuPerSimulation(call: object, tag: 'latest' | 'pending'): Promise<number> {
  const simulations = 1_500
  const params = [{ blockStateCalls: [{ calls: [call] }] }, tag]
  const before = cpuMilliseconds(gateway.pid)
  let left = simulations
  const worker = async () => {
    while (left-- > 0) {
      const { text } = await ask('eth_simulateV1', params)
      if (!text.includes('"status":"0x1"')) throw new Error(`a simulation failed: ${text.slice(0, 300)}`)
    }
  }
  await Promise.all(Array.from({ length: 4 }, worker))
  return (cpuMilliseconds(gateway.pid) - before) / simulations
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text()
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')[1],
  )
}

function verdict(met: boolean): string {
  return met ? 'met' : 'MISSED'
}
