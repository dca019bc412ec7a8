import { deployUniswap, findGeth, GETH_DEVELOPER, startBuiltGeth, swapRouterAbi } from '@upfront/devnet'
import { createWalletClient, encodeFunctionData, type Hex, http, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { quantile } from '../measure/load.js'
import { startGateway } from '../servers/gateway.js'
import { cpuMilliseconds } from '../servers/process-usage.js'
import { formatNumber, formatTable } from '../table.js'

// `npm run bench:sweep`: tries one swap at each position of a block of 50 swaps whose state is held. The target is from issue 29.
const SWAPS = 50
const ROUNDS = 60
const WARM_UP = 20
const MAX_MS = 20
const FEE_RECIPIENT = '0x00000000000000000000000000000000000000fe'

const path = findGeth()
if (path === undefined) throw new Error('there is no geth in PATH, ~/go/bin or $GETH')
const geth = await startBuiltGeth(path)
const seal = () => geth.build({ feeRecipient: FEE_RECIPIENT, withdrawals: [] })
let isDeployed = false
const sealing = (async () => {
  while (!isDeployed) await seal()
})()
const { router, poolV3, token0 } = await deployUniswap(geth.rpcUrl, GETH_DEVELOPER.privateKey)
isDeployed = true
await sealing
const trader = privateKeyToAccount(GETH_DEVELOPER.privateKey)
const wallet = createWalletClient({ account: trader, transport: http(geth.rpcUrl) })
const swap = (more: number) =>
  encodeFunctionData({
    abi: swapRouterAbi,
    functionName: 'swapV3',
    args: [poolV3, token0, parseEther('0.001') + BigInt(more), 0n, trader.address],
  })
const first = Number(await geth.rpc<Hex>('eth_getTransactionCount', [trader.address, 'pending']))
for (let sent = 0; sent < SWAPS; sent += 1)
  await wallet.sendTransaction({ chain: null, nonce: first + sent, gas: 400_000n, to: router, data: swap(sent) })
const isEmpty = async (hash: string) =>
  (await geth.rpc<{ transactions: Hex[] }>('eth_getBlockByHash', [hash, false])).transactions.length === 0
let block = await seal()
// A busy geth may seal its block before adding the transactions.
while (await isEmpty(block)) block = await seal()
const gateway = await startGateway(geth.rpcUrl)

const rows: string[][] = []
for (const assetChanges of [false, true]) {
  const call = { from: trader.address, to: router, data: swap(SWAPS) }
  const params = [{ blockStateCalls: [{ calls: [call] }], positions: 'all', assetChanges }, block]
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'upfront_simulate', params })
  const times: number[] = []
  let cpu = 0
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    if (round === WARM_UP) cpu = cpuMilliseconds(gateway.pid)
    const began = performance.now()
    const response = await fetch(gateway.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const { result } = (await response.json()) as { result?: { status: Hex }[] }
    if (result?.length !== SWAPS + 1 || result.some(({ status }) => status !== '0x1')) throw new Error('a wrong answer')
    if (round >= WARM_UP) times.push(performance.now() - began)
  }
  const median = quantile(times, 0.5)
  rows.push([
    assetChanges ? 'status, gas, asset changes' : 'status, gas',
    formatNumber(median),
    formatNumber(quantile(times, 0.9)),
    formatNumber((cpuMilliseconds(gateway.pid) - cpu) / ROUNDS),
    median <= MAX_MS ? 'met' : `missed: ${MAX_MS}`,
  ])
}
await gateway.stop()
await geth.stop()
console.log(formatTable(['51 positions', 'p50 ms', 'p90 ms', 'CPU ms', 'target'], rows))
