import type { Address, Network } from '@upfront/protocol'
import type { BillingEnvironment } from '../environment/environment.js'
import type { Metrics } from '../health/metrics.js'
import { Chain } from './chain.js'
import { Node } from './node.js'
import { NodeFault } from './node-error.js'

/** Every configured chain, by network. */
export class Chains {
  readonly #chains: ReadonlyMap<Network, Chain>

  constructor(environment: BillingEnvironment, metrics: Metrics) {
    this.#chains = new Map(
      environment.chains.map((settings) => {
        const { network, chainId, rpcUrl } = settings
        const node = new Node(rpcUrl, chainId, environment.nodeTimeoutMilliseconds, (method) =>
          metrics.nodeFaults.inc({ network, method }),
        )
        return [network, new Chain(settings, environment.signers, node)]
      }),
    )
  }

  get(network: Network): Chain | undefined {
    return this.#chains.get(network)
  }

  all(): Chain[] {
    return [...this.#chains.values()]
  }

  /** Of a payment in the ledger. Throws where `CHAINS` no longer names its network. */
  of(network: Network): Chain {
    const chain = this.#chains.get(network)
    if (chain === undefined) throw new NodeFault(`CHAINS does not name ${network}`)
    return chain
  }

  async close(): Promise<void> {
    await Promise.all(this.all().map(({ node }) => node.close()))
  }

  /** Own signers, in the order of the environment. */
  signerAddresses(): Address[] {
    return [...(this.all()[0]?.signers.keys() ?? [])]
  }
}
