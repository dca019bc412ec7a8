import {
  type BuiltGeth,
  deployUniswap,
  findGeth,
  GETH_DEVELOPER,
  startBuiltGeth,
  swapRouterAbi,
  testTokenAbi,
} from '@upfront/devnet'
import { encodeFunctionData, type Hex, numberToHex, pad, parseEther } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { nativeTransfer, swapV2, swapV3, tokenTransfer } from '../workloads/calls.js'
import type { SimulatedCall, Stage } from '../workloads/workload.js'

/** A chain that makes a block of swaps and transfers at a fixed interval. */
export interface MovingChain {
  rpcUrl: string
  wsUrl: string
  stage: Stage
  stop(): Promise<void>
}

const CHAIN_ID = 1337
const GAS = 400_000n
const FEE = 10n ** 11n
const FEE_RECIPIENT = pad('0xfee', { size: 20 })
const DEPLOYING_INTERVAL_MS = 100
const HOLDERS = 8
/** Fraction of the block interval. */
const SENDING_PART = 0.8

/**
 * Starts a geth that seals a block every `intervalMs` with this many transactions: swaps in both pools, and transfers of tokens and native
 * currency between a few accounts. Its clock runs ahead: no two blocks have the same timestamp.
 */
export async function startMovingChain(intervalMs: number, transactions: number): Promise<MovingChain> {
  const path = findGeth()
  if (path === undefined) throw new Error('there is no geth in PATH, ~/go/bin or $GETH')
  const geth = await startBuiltGeth(path)
  let sealing: Sealing | undefined
  try {
    const trader = privateKeyToAccount(GETH_DEVELOPER.privateKey)
    sealing = sealBlocks(geth, DEPLOYING_INTERVAL_MS, async () => undefined)
    const stage: Stage = {
      uniswap: await deployUniswap(geth.rpcUrl, GETH_DEVELOPER.privateKey),
      trader: trader.address,
    }
    await sealing.stop()
    const traffic = await Traffic.begin(geth, stage, trader)
    await seal(geth)
    sealing = sealBlocks(geth, intervalMs, () => traffic.send(transactions, SENDING_PART * intervalMs))
    const { rpcUrl, wsUrl } = geth
    const running = sealing
    return {
      ...{ rpcUrl, wsUrl, stage },
      async stop() {
        await running.stop()
        await geth.stop()
      },
    }
  } catch (error) {
    await sealing?.stop().catch(() => undefined)
    await geth.stop()
    throw error
  }
}

/** The trader swaps. Holders, who have approved the router too, swap and send to each other. */
class Traffic {
  #sent = 0
  readonly #nonces = new Map<PrivateKeyAccount, number>()

  readonly #geth: BuiltGeth
  readonly #stage: Stage
  readonly #holders: readonly PrivateKeyAccount[]

  private constructor(geth: BuiltGeth, stage: Stage, holders: readonly PrivateKeyAccount[]) {
    this.#geth = geth
    this.#stage = stage
    this.#holders = holders
  }

  /** Funds the holders, by transactions for the next block. */
  static async begin(geth: BuiltGeth, stage: Stage, trader: PrivateKeyAccount): Promise<Traffic> {
    const holders = Array.from({ length: HOLDERS }, (_, n) =>
      privateKeyToAccount(pad(numberToHex(0xb0b0 + n), { size: 32 })),
    )
    const traffic = new Traffic(geth, stage, holders)
    const mined = async () => Number(await geth.rpc<Hex>('eth_getTransactionCount', [trader.address, 'latest']))
    traffic.#nonces.set(trader, await mined())
    const { token0, token1, router } = stage.uniswap
    for (const holder of holders) {
      await traffic.#submit(trader, { to: holder.address, value: numberToHex(parseEther('1000')) })
      for (const token of [token0, token1]) {
        const args = [holder.address, parseEther('10000')] as const
        const transfer = encodeFunctionData({ abi: testTokenAbi, functionName: 'transfer', args })
        await traffic.#submit(trader, { to: token, data: transfer })
      }
    }
    do await seal(geth)
    while ((await mined()) < traffic.#nonces.get(trader)!)
    for (const holder of holders)
      for (const token of [token0, token1]) {
        const approve = encodeFunctionData({ abi: testTokenAbi, functionName: 'approve', args: [router, 2n ** 255n] })
        await traffic.#submit(holder, { to: token, data: approve })
      }
    return traffic
  }

  /** Sends this many, spread over the time: signing all at once would delay the responses that this process measures. */
  async send(count: number, overMs: number): Promise<void> {
    const began = performance.now()
    for (let sent = 0; sent < count; sent += 1) {
      const left = began + (sent * overMs) / count - performance.now()
      if (left > 0) await new Promise((resolve) => setTimeout(resolve, left))
      const index = this.#sent++
      const from = this.#holders[index % HOLDERS]!
      await this.#submit(from, this.#call(index, from))
    }
  }

  #call(index: number, { address }: PrivateKeyAccount): SimulatedCall {
    const stage = this.#stage
    const holders = this.#holders
    const amount = parseEther('0.001') + BigInt(index)
    const round = Math.floor(index / HOLDERS)
    switch (round % 4) {
      case 0:
        return swapV3(stage, address, amount)
      case 1:
        return tokenTransfer(stage)
      case 2:
        return { ...nativeTransfer(stage), to: holders[(index + 1) % HOLDERS]!.address, gas: numberToHex(GAS) }
      default:
        return this.#sellBack(index, address, amount)
    }
  }

  /** Sells back, to keep prices stable. */
  #sellBack(index: number, address: Hex, amount: bigint): SimulatedCall {
    const stage = this.#stage
    if (index % 2 === 0) return swapV2(stage)
    const { poolV3, token1, router } = stage.uniswap
    const args = [poolV3, token1, amount, 0n, address] as const
    return { to: router, data: encodeFunctionData({ abi: swapRouterAbi, functionName: 'swapV3', args }) }
  }

  async #submit(from: PrivateKeyAccount, { to, data, value }: SimulatedCall): Promise<void> {
    const nonce = this.#nonces.get(from) ?? 0
    this.#nonces.set(from, nonce + 1)
    const raw = await from.signTransaction({
      ...{ chainId: CHAIN_ID, type: 'eip1559', nonce, gas: GAS, maxFeePerGas: FEE, maxPriorityFeePerGas: 1n },
      ...{ to: to!, data: data ?? '0x', value: BigInt(value ?? 0) },
    })
    await this.#geth.rpc('eth_sendRawTransaction', [raw])
  }
}

function seal(geth: BuiltGeth): Promise<string> {
  return geth.build({ feeRecipient: FEE_RECIPIENT, withdrawals: [] })
}

interface Sealing {
  stop(): Promise<void>
}

function sealBlocks(geth: BuiltGeth, intervalMs: number, fill: () => Promise<unknown>): Sealing {
  let going = true
  const run = async () => {
    for (let due = performance.now() + intervalMs; going; due += intervalMs) {
      await fill()
      const left = due - performance.now()
      if (left > 0) await new Promise((resolve) => setTimeout(resolve, left))
      await seal(geth)
    }
  }
  const ended = run()
  ended.catch((error) => {
    if (!going) return
    console.error(error)
    process.exit(1)
  })
  return {
    async stop() {
      going = false
      await ended
    },
  }
}
