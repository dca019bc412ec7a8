import type { Address, Hash, Hex, Network, Token } from '@upfront/protocol'
import { encodeFunctionData, parseAbi } from 'viem'
import type { ChainSettings } from '../environment/chain-settings.js'
import type { SignerKey } from '../environment/signer-keys.js'
import { BlockView, type RpcBlock } from './block-view.js'
import { cacheFor } from './cache-for.js'
import { Head } from './head.js'
import type { Node } from './node.js'
import { NodeRefusal } from './node-error.js'
import { type Log, type Receipt, type RpcLog, type RpcReceipt, readLog, readReceipt } from './receipt.js'
import { isProxy, toQuantity, toUint } from './settlement-call.js'
import { type Fees, State } from './state.js'

const FINAL_DEPTH_BLOCKS = 64n
const PRIORITY_FEE_MAX_AGE_MS = 10_000
/** Upper bound of the tip, in wei per gas, while the base fee is below it. OP-stack chains ask for this much. */
const MIN_TIP = 1_000_000n
/** OP-stack predeploy. No other chain has code at this address. */
const GAS_PRICE_ORACLE: Address = '0x420000000000000000000000000000000000000f'
const L1_FEE_MAX_AGE_MS = 60_000
/** As long as a settlement transaction, and as hard to compress. */
const TYPICAL_SETTLEMENT: Hex = `0x${Array.from({ length: 800 }, (_, index) => ((index * 197 + 89) % 256).toString(16).padStart(2, '0')).join('')}`
const TYPICAL_L1_FEE = encodeFunctionData({
  abi: parseAbi(['function getL1Fee(bytes) view returns (uint256)']),
  functionName: 'getL1Fee',
  args: [TYPICAL_SETTLEMENT],
})

/** A chain as billing uses it: reads, broadcasts and the head. All methods throw `NodeFault` or `NodeRefusal`. */
export class Chain {
  readonly network: Network
  readonly chainId: number
  readonly confirmations: number
  /** Value of one token in wei, see `ChainSettings`. */
  readonly weiPerToken: bigint
  /** Wei. */
  readonly maxFeePerGas: bigint
  /** Wei per signer in 24 hours. */
  readonly dailyGasBudget: bigint
  /** Wei per payer and token in 24 hours; `null` if no gas is sponsored. */
  readonly dailySponsoredGas: bigint | null
  readonly head: Head
  /** State of the newest block. */
  readonly latest: State
  /** By lower-case address. */
  readonly signers: ReadonlyMap<Address, SignerKey>
  readonly #tokens: Map<Address, Token>
  readonly #contracts = new Set<Address>()
  readonly #sponsored = new Set<Address>()
  /** Receipt requests under way: the payments of a batch share one. */
  readonly #receipts = new Map<Hash, Promise<Receipt | null>>()
  /**
   * The L1 fee of a settlement on an OP-stack chain, at most a minute old, plus a quarter in case it rises before sending; 0 on other
   * chains. Wei.
   */
  readonly l1Fee = cacheFor(L1_FEE_MAX_AGE_MS, async () => {
    return (toUint(await this.latest.call(GAS_PRICE_ORACLE, TYPICAL_L1_FEE)) * 5n) / 4n
  })
  readonly #priorityFee = cacheFor(PRIORITY_FEE_MAX_AGE_MS, async () => {
    return BigInt(await this.node.request<Hex>('eth_maxPriorityFeePerGas', []))
  })

  constructor(
    settings: ChainSettings & { confirmations: number },
    signers: readonly SignerKey[],
    readonly node: Node,
  ) {
    this.network = settings.network
    this.chainId = settings.chainId
    this.confirmations = settings.confirmations
    this.weiPerToken = settings.weiPerToken
    this.maxFeePerGas = settings.maxFeePerGas
    this.dailyGasBudget = settings.dailyGasBudget
    this.dailySponsoredGas = settings.dailySponsoredGas ?? null
    this.#tokens = new Map(settings.tokens)
    this.signers = new Map(signers.map((signer) => [signer.address, signer]))
    this.head = new Head(node)
    this.latest = this.at('latest')
  }

  /** Tokens settled on this chain, by address. */
  get tokens(): ReadonlyMap<Address, Token> {
    return this.#tokens
  }

  /** Tokens for which billing pays the gas of EIP-2612 permits. */
  get sponsored(): ReadonlySet<Address> {
    return this.#sponsored
  }

  sponsorToken(asset: Address): void {
    this.#sponsored.add(asset)
  }

  refuseToken(asset: Address): void {
    this.#tokens.delete(asset)
  }

  /** The newest block whose transactions have enough confirmations. */
  get confirmedBlock(): bigint {
    return this.head.number + 1n - BigInt(this.confirmations)
  }

  /** The state of a block, by number. */
  at(block: bigint | 'latest'): State {
    return new State(this.node, block === 'latest' ? block : toQuantity(block), () => this.#usualFees())
  }

  /** Whether the account had code before or after this block. Uses the newest state if the node has pruned the old one. */
  async hadCode(address: Address, number: bigint): Promise<boolean> {
    const blocks = [number, number > 0n ? number - 1n : 0n]
    try {
      const codes = await Promise.all(blocks.map((block) => this.at(block).code(address)))
      return codes.some((code) => code !== '0x')
    } catch (error) {
      if (!(error instanceof NodeRefusal)) throw error
      return (await this.latest.code(address)) !== '0x'
    }
  }

  /** Whether the address has code. Cached for tokens and proxies that have: their code does not go away. */
  async isContract(address: Address): Promise<boolean> {
    if (this.#contracts.has(address)) return true
    if ((await this.latest.code(address)) === '0x') return false
    if (this.tokens.has(address) || isProxy(address)) this.#contracts.add(address)
    return true
  }

  /** Whether EIP-7702 is active: it came with Prague (Isthmus on the OP stack), as did `requestsHash`. */
  async hasDelegations(): Promise<boolean> {
    const head = await this.node.request<{ requestsHash?: Hash }>('eth_getBlockByNumber', ['latest', false])
    return head.requestsHash !== undefined && head.requestsHash !== null
  }

  async send(raw: Hex): Promise<void> {
    await this.node.request('eth_sendRawTransaction', [raw])
  }

  /** Concurrent callers share one request. */
  receipt(hash: Hash): Promise<Receipt | null> {
    const known = this.#receipts.get(hash)
    if (known !== undefined) return known
    const reading = this.#readReceipt(hash).finally(() => this.#receipts.delete(hash))
    this.#receipts.set(hash, reading)
    return reading
  }

  async #readReceipt(hash: Hash): Promise<Receipt | null> {
    const found = await this.node.request<RpcReceipt | null>('eth_getTransactionReceipt', [hash])
    if (found === null || found.blockNumber === null) return null
    const receipt = readReceipt(found)
    this.head.atLeast(receipt.blockNumber)
    return receipt
  }

  /** The block `depth` below the newest (0: the newest), for reading its state by hash. Returns `null` if the chain is shorter. */
  async blockBelowHead(depth: bigint): Promise<BlockView | null> {
    const { number } = await this.head.refresh()
    return number < depth ? null : this.block(number - depth)
  }

  /** Returns `null` if the chain does not have this block (any more), or the node does not have it yet. */
  async block(number: bigint): Promise<BlockView | null> {
    const found = await this.node.request<RpcBlock | null>('eth_getBlockByNumber', [toQuantity(number), true])
    return found === null ? null : new BlockView(this.node, found, () => this.#usualFees())
  }

  /** Hash and timestamp (Unix seconds) of a block; `null` if the chain does not have it (any more), or the node does not have it yet. */
  async header(number: bigint): Promise<{ hash: Hash; timestamp: bigint } | null> {
    const params = [toQuantity(number), false]
    const found = await this.node.request<{ hash: Hash; timestamp: Hex } | null>('eth_getBlockByNumber', params)
    return found === null ? null : { hash: found.hash, timestamp: BigInt(found.timestamp) }
  }

  /** Target and calldata of a mined or pending transaction. */
  async transaction(hash: Hash): Promise<{ to: Address | null; input: Hex } | null> {
    const found = await this.node.request<{ to: Address | null; input: Hex } | null>('eth_getTransactionByHash', [hash])
    return found === null ? null : { to: (found.to?.toLowerCase() as Address | undefined) ?? null, input: found.input }
  }

  async logs(
    address: Address | readonly Address[],
    topics: (Hash | Hash[] | null)[],
    fromBlock: bigint,
    toBlock: bigint,
  ): Promise<Log[]> {
    const range = { fromBlock: toQuantity(fromBlock), toBlock: toQuantity(toBlock) }
    return (await this.node.request<RpcLog[]>('eth_getLogs', [{ address, topics, ...range }])).map(readLog)
  }

  /** The newest finalized block. If the node does not report it, the block 64 below the newest. */
  async finalBlock(): Promise<bigint> {
    const { number } = await this.head.refresh()
    const guess = number > FINAL_DEPTH_BLOCKS ? number - FINAL_DEPTH_BLOCKS : 0n
    try {
      const found = await this.node.request<{ number: Hex } | null>('eth_getBlockByNumber', ['finalized', false])
      return found === null ? guess : BigInt(found.number)
    } catch (error) {
      if (error instanceof NodeRefusal) return guess
      throw error
    }
  }

  /** Leaves room for the base fee to double, as wallets do, up to the chain's `maxFeePerGas`. */
  async fees(): Promise<Fees> {
    const { maxFeePerGas, maxPriorityFeePerGas } = await this.#usualFees()
    const bounded = (wei: bigint) => (wei < this.maxFeePerGas ? wei : this.maxFeePerGas)
    return { maxFeePerGas: bounded(maxFeePerGas), maxPriorityFeePerGas: bounded(maxPriorityFeePerGas) }
  }

  /** Upper bounds for a settlement sent now: fee per gas and L1 fee. Wei. */
  async gasPrice(): Promise<{ maxFeePerGas: bigint; l1Fee: bigint }> {
    const [{ maxFeePerGas }, l1Fee] = await Promise.all([this.fees(), this.l1Fee()])
    return { maxFeePerGas, l1Fee }
  }

  async #usualFees(): Promise<Fees> {
    const [{ baseFeePerGas }, suggested] = await Promise.all([this.head.recent(), this.#priorityFee()])
    // On a quiet chain a single high bid can inflate the suggested tip. A tip as high as the base fee is enough on any chain.
    const most = baseFeePerGas > MIN_TIP ? baseFeePerGas : MIN_TIP
    const maxPriorityFeePerGas = suggested < most ? suggested : most
    return { maxFeePerGas: baseFeePerGas * 2n + maxPriorityFeePerGas, maxPriorityFeePerGas }
  }

  /** Whether the newest base fee is below the chain's `maxFeePerGas`, so that a tip is left for the builder. Throws `NodeFault`. */
  async isGasCheapEnough(): Promise<boolean> {
    return (await this.head.recent()).baseFeePerGas < this.maxFeePerGas
  }
}
