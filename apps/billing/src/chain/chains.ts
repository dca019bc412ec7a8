import { setTimeout as sleep } from 'node:timers/promises'
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common'
import type { Address, Network } from '@upfront/protocol'
import { LOGGER, type Logger } from '@upfront/service'
import { Environment } from '../environment/environment.js'
import { BillingMetrics } from '../metrics.js'
import { Chain } from './chain.js'
import { Node } from './node.js'
import { NodeFault, WrongChain } from './node-error.js'

/** The longest that the start waits for nodes. */
const START_MILLISECONDS = 2_000

/** Every configured chain, by network. */
@Injectable()
export class Chains implements OnModuleInit, OnApplicationShutdown {
  private readonly chains: ReadonlyMap<Network, Chain>

  constructor(
    environment: Environment,
    metrics: BillingMetrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.chains = new Map(
      environment.CHAINS.map((settings) => {
        const { network, chainId, rpcUrl, confirmations = environment.CONFIRMATIONS } = settings
        const node = new Node(rpcUrl, chainId, environment.NODE_TIMEOUT_MS, (method) =>
          metrics.nodeFaults.inc({ network, method }),
        )
        return [network, new Chain({ ...settings, confirmations }, environment.signers, node)]
      }),
    )
  }

  /** A wrong `rpcUrl` would let signatures be checked on one chain and settled on another: refused at start. */
  async onModuleInit(): Promise<void> {
    const checks = this.all().map(async ({ network, node }) => {
      await node.request('eth_chainId', []).catch((error: unknown) => {
        if (error instanceof WrongChain) throw new Error(`CHAINS["${network}"].rpcUrl: ${error.message}`)
        if (!(error instanceof NodeFault)) throw error
        this.logger.warn({ network, reason: error.message }, 'the node does not answer yet')
      })
    })
    // A node that hangs keeps nobody waiting: should it be of another chain, each of its later answers is refused.
    const started = Promise.all(checks)
    started.catch(() => undefined)
    await Promise.race([started, sleep(START_MILLISECONDS, undefined, { ref: false })])
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.all().map(({ node }) => node.close()))
  }

  get(network: Network): Chain | undefined {
    return this.chains.get(network)
  }

  all(): Chain[] {
    return [...this.chains.values()]
  }

  /** Of a payment in the ledger. Throws where `CHAINS` no longer names its network. */
  of(network: Network): Chain {
    const chain = this.chains.get(network)
    if (chain === undefined) throw new NodeFault(`CHAINS does not name ${network}`)
    return chain
  }

  /** Own signers, in the order of the environment. */
  signerAddresses(): Address[] {
    return [...(this.all()[0]?.signers.keys() ?? [])]
  }
}
