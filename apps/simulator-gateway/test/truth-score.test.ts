import { once } from 'node:events'
import { type Devnet, startDevnet, swapRouterAbi, testTokenAbi } from '@upfront/devnet'
import { type SignedTruthSummary, truthSignerOf } from '@upfront/receipt'
import {
  createPublicClient,
  createTestClient,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  http,
  maxUint256,
  parseEther,
  parseGwei,
} from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'
import { receiptKeysFile } from './paid-stand.js'

/** The test times by itself how much it may take of a core. */
const TIMEOUT_MS = 60_000
const KEY = generatePrivateKey()

interface Miss {
  transaction: Hex
  why: string
  differs: string[]
  effect?: string
  because: { fact: { kind: string; address?: Hex }; by: string; predicted: Hex; found: Hex }[]
}

type Summary = Omit<SignedTruthSummary, 'misses'> & { misses: Miss[] }

let devnet: Devnet
let gateway: GatewayProcess
let traders: PrivateKeyAccount[]

const chain = () =>
  createTestClient({ chain: foundry, mode: 'anvil', transport: http(devnet.rpcUrl), pollingInterval: 20 })
const reader = () => createPublicClient({ chain: foundry, transport: http(devnet.rpcUrl), pollingInterval: 20 })

beforeAll(async () => {
  devnet = await startDevnet({ uniswap: true, payments: false })
  traders = [1, 2, 3].map(() => privateKeyToAccount(generatePrivateKey()))
  const { token0, router } = devnet.uniswap!
  const deployer = createWalletClient({
    account: privateKeyToAccount(devnet.accounts.deployer.privateKey),
    chain: foundry,
    transport: http(devnet.rpcUrl),
  })
  for (const { address } of traders) {
    await chain().setBalance({ address, value: parseEther('10') })
    const args = { abi: testTokenAbi, address: token0 } as const
    const hash = await deployer.writeContract({ ...args, functionName: 'mint', args: [address, parseEther('1000')] })
    await reader().waitForTransactionReceipt({ hash })
  }
  for (const account of traders)
    await send(
      account,
      token0,
      encodeFunctionData({ abi: testTokenAbi, functionName: 'approve', args: [router, maxUint256] }),
    )
  await chain().setAutomine(false)
  gateway = await startGatewayProcess({
    UPSTREAM_RPC_URL: devnet.rpcUrl,
    UPSTREAM_WS_URL: devnet.rpcUrl.replace('http', 'ws'),
    RECEIPT_KEYS_FILE: receiptKeysFile(KEY),
    TRUTH_SCORE: 'on',
  })
  for (const what of ['blocks', 'waiting transactions'])
    while (!gateway.output().includes(`"what":"${what}","msg":"predictions are scored`))
      await once(gateway.process.stdout!, 'data')
}, TIMEOUT_MS)
afterAll(async () => {
  await gateway?.stop()
  await devnet?.stop()
})

function send(account: PrivateKeyAccount, to: Hex, data: Hex, priority = 1n): Promise<Hex> {
  const wallet = createWalletClient({ account, chain: foundry, transport: http(devnet.rpcUrl) })
  return wallet.sendTransaction({
    ...{ to, data, gas: 500_000n },
    ...{ maxFeePerGas: parseGwei('50'), maxPriorityFeePerGas: parseGwei(String(priority)) },
  })
}

const swapArgs = ({ address }: PrivateKeyAccount, least: bigint) =>
  [devnet.uniswap!.pairV2, devnet.uniswap!.token0, parseEther('100'), least, address] as const

/** What a swap would bring now. */
const quote = async (account: PrivateKeyAccount) => {
  const call = { address: devnet.uniswap!.router, abi: swapRouterAbi, functionName: 'swapV2' } as const
  return (await reader().simulateContract({ ...call, account, args: swapArgs(account, 0n) })).result
}

const swap = (account: PrivateKeyAccount, priority: bigint, least = 0n) => {
  const data = encodeFunctionData({ abi: swapRouterAbi, functionName: 'swapV2', args: swapArgs(account, least) })
  return send(account, devnet.uniswap!.router, data, priority)
}

async function summary(query = ''): Promise<Summary> {
  return (await fetch(`${gateway.url}/v1/truth${query}`)).json() as Promise<Summary>
}

/** Once so many were predicted, or judged: the answer is made anew each second at most. */
async function until(what: 'predicted' | 'judged', count: number): Promise<Summary> {
  for (;;) {
    const found = await summary()
    if (found[what] >= count) return found
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

it(
  'scores what was predicted of waiting transactions, and names the dependency that made a prediction wrong',
  async () => {
    const [first, second, third] = traders as [PrivateKeyAccount, PrivateKeyAccount, PrivateKeyAccount]
    // All stand on the same reserves: only the first finds them.
    const hit = await swap(first, 30n)
    const less = await swap(second, 20n)
    const fails = await swap(third, 10n, await quote(third))
    await until('predicted', 3)
    await chain().mine({ blocks: 1 })
    const { misses, ...counts } = await until('judged', 3)
    expect(counts).toMatchObject({ chainId: foundry.id, seen: 3, predicted: 3, judged: 3, hits: 1, explained: 2 })
    const byHash = new Map(misses.map((miss) => [miss.transaction, miss]))
    expect(byHash.has(hit)).toBe(false)
    expect(byHash.get(less)).toMatchObject({ why: 'dependency', differs: expect.arrayContaining(['transfers']) })
    expect(byHash.get(less)!.effect).toMatch(/^0x\w+ instead of 0x\w+: transfer of 0x/)
    expect(byHash.get(fails)).toMatchObject({
      why: 'dependency',
      differs: expect.arrayContaining(['status']),
      effect: 'fails',
    })
    const reserves = { fact: { kind: 'slot', address: devnet.uniswap!.pairV2.toLowerCase() }, by: 'its block' }
    for (const hash of [less, fails])
      expect(byHash.get(hash)!.because).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ ...reserves, fact: expect.objectContaining(reserves.fact) }),
        ]),
      )
  },
  TIMEOUT_MS,
)

it('signs the summary with the receipt key', async () => {
  const found = await summary(`?day=${new Date().toISOString().slice(0, 10)}`)
  const address = privateKeyToAccount(KEY).address.toLowerCase()
  expect(found.signer).toBe(address)
  expect(await truthSignerOf(found)).toBe(address)
  const [miss, ...others] = found.misses
  expect(await truthSignerOf({ ...found, misses: [{ ...miss!, why: 'rule' }, ...others] })).not.toBe(address)
  expect(await truthSignerOf({ ...found, hits: found.hits + 1 })).not.toBe(address)
})

it('refuses what is no day, and one of which nothing is kept', async () => {
  for (const [query, status, words] of [
    ['?day=yesterday', 400, 'day: expected a day such as 2026-11-24'],
    ['?day=a&day=b', 400, 'day: expected a day such as 2026-11-24'],
    ['?day=1999-01-01', 404, 'day: nothing is kept of 1999-01-01'],
  ] as const) {
    const response = await fetch(`${gateway.url}/v1/truth${query}`)
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { message: words } })
  }
})
