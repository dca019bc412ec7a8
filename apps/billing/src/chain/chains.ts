import { setTimeout as sleep } from 'node:timers/promises'
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common'
import type { Address, Network } from '@upfront/protocol'
import { LOGGER, type Logger } from '@upfront/service'
import { Environment } from '../environment/environment.js'
import { BillingMetrics } from '../metrics.js'
import { Chain } from './chain.js'
import { examineToken } from './examine-token.js'
import { Node } from './node.js'
import { NodeFault, WrongChain } from './node-error.js'
import { raceTimeout } from './race-timeout.js'
import { takesPermits } from './takes-permits.js'

/** Longest time that the start waits for nodes. */
const START_MS = 2_000
const CHECK_AGAIN_MS = 10_000

/** All configured chains, by network. */
@Injectable()
export class Chains implements OnModuleInit, OnApplicationShutdown {
  private readonly chains: ReadonlyMap<Network, Chain>
  private readonly stop = new AbortController()

  constructor(
    environment: Environment,
    metrics: BillingMetrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.chains = new Map(
      environment.CHAINS.map((settings) => {
        const { network, chainId, rpcUrl, confirmations = environment.CONFIRMATIONS } = settings
        const node = new Node(rpcUrl, chainId, environment.LIMITS.nodeTimeoutMs, (method) =>
          metrics.nodeFaults.inc({ network, method }),
        )
        metrics.begin(network)
        return [network, new Chain({ ...settings, confirmations }, environment.signers, node)]
      }),
    )
  }

  /**
   * Fails the start if a node serves another chain (signatures would be checked on one chain and settled on another), or if a token's
   * transfers do not move the exact amount. A slow node does not delay the start: its check is repeated later, and a token found unsuitable
   * then is refused from that time on. Answers of a wrong chain are always refused.
   */
  async onModuleInit(): Promise<void> {
    const started = Promise.all(this.all().map((chain) => this.check(chain)))
    started.catch(() => undefined)
    await raceTimeout(START_MS, started, undefined)
  }

  private async check(chain: Chain): Promise<void> {
    const { network, node } = chain
    while (!this.stop.signal.aborted) {
      try {
        await node.request('eth_chainId', [])
        for (const asset of [...chain.tokens.keys()]) await this.checkToken(chain, asset)
        if (chain.dailySponsoredGas !== null) await this.findPermits(chain)
        return
      } catch (error) {
        if (error instanceof WrongChain) throw new Error(`CHAINS["${network}"].rpcUrl: ${error.message}`)
        if (!(error instanceof NodeFault)) throw error
        this.logger.warn({ network, reason: error.message }, 'the node does not answer yet')
        await sleep(CHECK_AGAIN_MS, undefined, { signal: this.stop.signal, ref: false }).catch(() => undefined)
      }
    }
  }

  private async checkToken(chain: Chain, asset: Address): Promise<void> {
    const { network, node } = chain
    const finding = await examineToken(node, asset)
    if (finding === 'plain') return
    if (finding === 'unknown') {
      this.logger.warn({ network, asset }, 'could not check whether the token transfers exact amounts')
      return
    }
    chain.refuseToken(asset)
    const problem = `CHAINS["${network}"].tokens["${asset}"]: ${finding}: sellers would receive less than was charged`
    this.logger.error({ network, asset }, problem)
    throw new Error(problem)
  }

  private async findPermits(chain: Chain): Promise<void> {
    const { network, chainId, node } = chain
    for (const token of chain.tokens.values()) {
      if (await takesPermits(node, chainId, token)) chain.sponsorToken(token.asset)
      else
        this.logger.warn(
          { network, asset: token.asset },
          'the token does not support EIP-2612 permits: gas for its approvals is not sponsored',
        )
    }
  }

  async onApplicationShutdown(): Promise<void> {
    this.stop.abort()
    await Promise.all(this.all().map(({ node }) => node.close()))
  }

  get(network: Network): Chain | undefined {
    return this.chains.get(network)
  }

  all(): Chain[] {
    return [...this.chains.values()]
  }

  /** The chain of a payment in the ledger. Throws `NodeFault` if `CHAINS` no longer has its network. */
  of(network: Network): Chain {
    const chain = this.chains.get(network)
    if (chain === undefined) throw new NodeFault(`CHAINS does not name ${network}`)
    return chain
  }
}
