import type { Address, Hash, Hex, Network, Token } from '@upfront/protocol'
import type { ChainSettings } from '../environment/chain-settings.js'
import type { SignerKey } from '../environment/signer-keys.js'
import { BlockView, type RpcBlock } from './block-view.js'
import { estimateSettlement, type Fees, readL1Fee, simulateSettlement, wouldSettle } from './gas-terms.js'
import { Head } from './head.js'
import type { Node } from './node.js'
import { NodeRefusal } from './node-error.js'
import { type Log, type Receipt, type RpcLog, type RpcReceipt, readLog, readReceipt } from './receipt.js'
import {
  encodeBalanceOf,
  encodePermit2Allowance,
  isNonceUsed,
  isProxy,
  type NonceOf,
  nonceCall,
  toQuantity,
  toUint,
} from './settlement-call.js'

const FINAL_DEPTH_BLOCKS = 64n
const PRIORITY_FEE_MAX_AGE_MILLISECONDS = 10_000
/** Wei per gas that may be tipped where the base fee is lower: what OP-stack chains ask. */
const LEAST_TIP = 1_000_000n
const L1_FEE_MAX_AGE_MILLISECONDS = 60_000
/** As long as the transaction of a settlement, and as hard to compress. */
const TYPICAL_SETTLEMENT: Hex = `0x${Array.from({ length: 800 }, (_, index) => ((index * 197 + 89) % 256).toString(16).padStart(2, '0')).join('')}`

/** One chain as billing uses it: reads, sends, and the newest head. All methods throw `NodeFault` or `NodeRefusal`. */
export class Chain {
  readonly network: Network
  readonly chainId: number
  readonly confirmations: number
  /** What a token is worth in wei, see `ChainSettings`. */
  readonly weiPerToken: bigint
  /** Wei. */
  readonly maxFeePerGas: bigint
  /** Wei in 24 hours for each signer. */
  readonly dailyGasBudget: bigint
  /** Wei in 24 hours for each payer and token; `null`: no gas is sponsored. */
  readonly dailySponsoredGas: bigint | null
  readonly head: Head
  /** By lower-case address. */
  readonly signers: ReadonlyMap<Address, SignerKey>
  readonly #tokens: Map<Address, Token>
  readonly #contracts = new Set<Address>()
  readonly #sponsored = new Set<Address>()
  /** Receipts that are being asked for: the payments of a batch share one. */
  readonly #receipts = new Map<Hash, Promise<Receipt | null>>()
  #knownL1Fee: { wei: bigint; at: number } | null = null
  #knownPriorityFee: { wei: bigint; at: number } | null = null

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
  }

  /** What is settled here, by address. */
  get tokens(): ReadonlyMap<Address, Token> {
    return this.#tokens
  }

  /** The tokens whose permits are settled here, their gas paid. */
  get sponsored(): ReadonlySet<Address> {
    return this.#sponsored
  }

  sponsorToken(asset: Address): void {
    this.#sponsored.add(asset)
  }

  refuseToken(asset: Address): void {
    this.#tokens.delete(asset)
  }

  /** The newest block whose transactions have their confirmations. */
  get confirmedBlock(): bigint {
    return this.head.number + 1n - BigInt(this.confirmations)
  }

  /** With a bound on gas where the callee is not trusted: it then reverts instead of burning the node's time. */
  call(to: Address, data: Hex, { gas }: { gas?: bigint } = {}): Promise<Hex> {
    return this.node.request('eth_call', [
      { to, data, ...(gas === undefined ? {} : { gas: toQuantity(gas) }) },
      'latest',
    ])
  }

  /** Calls as a settlement would, on the newest block, with this gas limit. Throws `Revert` too. */
  async simulateSettlement(from: Address, to: Address, data: Hex, gas: bigint): Promise<Hex> {
    return simulateSettlement(this.node, { from, to, data, gas, fees: await this.#usualFees() }, 'latest')
  }

  /** Whether a settlement would succeed on the newest block with this gas limit. */
  async wouldSettle(from: Address, to: Address, data: Hex, gas: bigint): Promise<boolean> {
    return wouldSettle(this.node, { from, to, data, gas, fees: await this.#usualFees() }, 'latest')
  }

  /** What an OP-stack chain asks for publishing a settlement, at most a minute old; nothing on other chains. Wei. */
  async l1Fee(): Promise<bigint> {
    if (this.#knownL1Fee === null || Date.now() - this.#knownL1Fee.at > L1_FEE_MAX_AGE_MILLISECONDS) {
      this.#knownL1Fee = { wei: await readL1Fee(this.node, TYPICAL_SETTLEMENT), at: Date.now() }
    }
    return this.#knownL1Fee.wei
  }

  code(address: Address): Promise<Hex> {
    return this.node.request('eth_getCode', [address, 'latest'])
  }

  /** Whether the account had code before or after this block; has it now, where the node keeps no state of then. */
  async hadCode(address: Address, number: bigint): Promise<boolean> {
    const at = (block: bigint) => this.node.request<Hex>('eth_getCode', [address, toQuantity(block)])
    try {
      const codes = await Promise.all([at(number), at(number > 0n ? number - 1n : 0n)])
      return codes.some((code) => code !== '0x')
    } catch (error) {
      if (!(error instanceof NodeRefusal)) throw error
      return (await this.code(address)) !== '0x'
    }
  }

  /** Remembers a yes: contracts do not go away. */
  async isContract(address: Address): Promise<boolean> {
    if (this.#contracts.has(address)) return true
    if ((await this.code(address)) === '0x') return false
    if (this.tokens.has(address) || isProxy(address)) this.#contracts.add(address)
    return true
  }

  async balanceOf(token: Address, owner: Address): Promise<bigint> {
    return toUint(await this.call(token, encodeBalanceOf(owner)))
  }

  async permit2Allowance(token: Address, owner: Address): Promise<bigint> {
    return toUint(await this.call(token, encodePermit2Allowance(owner)))
  }

  /** As of the newest block, or of the one with this number. */
  async isNonceUsed(authorization: NonceOf, number?: bigint): Promise<boolean> {
    const block = number === undefined ? 'latest' : toQuantity(number)
    return isNonceUsed(await this.node.request<Hex>('eth_call', [nonceCall(authorization), block]), authorization)
  }

  /** Throws `Revert` too. */
  async estimateSettlement(from: Address, to: Address, data: Hex): Promise<bigint> {
    return estimateSettlement(this.node, { from, to, data, fees: await this.#usualFees() })
  }

  /**
   * Runs a transaction on the newest block without sending it. Throws `Revert` and `NodeRefusal` where it could not be mined, at the
   * price of 0.
   */
  async simulate(from: Address, to: Address, data: Hex, gas: bigint): Promise<void> {
    await this.node.request<Hex>('eth_call', [{ from, to, data, gas: toQuantity(gas) }, 'latest'])
  }

  /** Whether accounts can be delegated: EIP-7702 came with Prague (Isthmus on the OP stack), as `requestsHash` did. */
  async hasDelegations(): Promise<boolean> {
    const head = await this.node.request<{ requestsHash?: Hash }>('eth_getBlockByNumber', ['latest', false])
    return head.requestsHash !== undefined && head.requestsHash !== null
  }

  async transactionCount(address: Address, block: 'latest' | 'pending'): Promise<number> {
    return Number(await this.node.request<Hex>('eth_getTransactionCount', [address, block]))
  }

  /** Native balance in wei. */
  async balance(address: Address): Promise<bigint> {
    return BigInt(await this.node.request<Hex>('eth_getBalance', [address, 'latest']))
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

  /**
   * The block so many blocks below the newest (0: the newest), to read its state by its hash; `null`: the chain is not that
   * long.
   */
  async blockBelowHead(depth: bigint): Promise<BlockView | null> {
    const { number } = await this.head.refresh()
    return number < depth ? null : this.block(number - depth)
  }

  /** `null`: the chain has no such block (any more), or the node does not have it yet. */
  async block(number: bigint): Promise<BlockView | null> {
    const found = await this.node.request<RpcBlock | null>('eth_getBlockByNumber', [toQuantity(number), true])
    return found === null ? null : new BlockView(this.node, found, () => this.#usualFees())
  }

  /** `null`: the chain has no such block (any more). */
  async blockHash(number: bigint): Promise<Hash | null> {
    const params = [toQuantity(number), false]
    return (await this.node.request<{ hash: Hash } | null>('eth_getBlockByNumber', params))?.hash ?? null
  }

  /** The calldata of a mined or pending transaction. */
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

  /** The newest block that the chain holds for final; where its node does not say, the one 64 below the newest. */
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

  /** Room for the base fee to double, as wallets leave it, within the chain's bound. */
  async fees(): Promise<Fees> {
    const { maxFeePerGas, maxPriorityFeePerGas } = await this.#usualFees()
    const bounded = (wei: bigint) => (wei < this.maxFeePerGas ? wei : this.maxFeePerGas)
    return { maxFeePerGas: bounded(maxFeePerGas), maxPriorityFeePerGas: bounded(maxPriorityFeePerGas) }
  }

  async #usualFees(): Promise<Fees> {
    const [{ baseFeePerGas }, suggested] = await Promise.all([this.head.recent(), this.#priorityFee()])
    // One bid of a stranger makes the suggestion of a quiet chain: a tip of the base fee is enough anywhere.
    const most = baseFeePerGas > LEAST_TIP ? baseFeePerGas : LEAST_TIP
    const maxPriorityFeePerGas = suggested < most ? suggested : most
    return { maxFeePerGas: baseFeePerGas * 2n + maxPriorityFeePerGas, maxPriorityFeePerGas }
  }

  /** Whether the newest block's base fee leaves something for its builder within the chain's bound. Throws `NodeFault`. */
  async isGasCheapEnough(): Promise<boolean> {
    return (await this.head.recent()).baseFeePerGas < this.maxFeePerGas
  }

  async #priorityFee(): Promise<bigint> {
    const known = this.#knownPriorityFee
    if (known !== null && Date.now() - known.at < PRIORITY_FEE_MAX_AGE_MILLISECONDS) return known.wei
    const wei = BigInt(await this.node.request<Hex>('eth_maxPriorityFeePerGas', []))
    this.#knownPriorityFee = { wei, at: Date.now() }
    return wei
  }
}
