import { Injectable } from '@nestjs/common'
import type { Address, Network } from '@upfront/protocol'
import { gt } from 'drizzle-orm'
import { Chains } from '../chain/chains.js'
import { Ledger } from '../ledger/ledger.js'
import { signers } from '../ledger/schema.js'

const REFRESH_MILLISECONDS = 5_000
/** A process that has not been seen for this long settles nothing any more. */
const ALIVE_MILLISECONDS = 120_000

/**
 * The signers of all billing processes on this ledger. An authorization for any of them is accepted anywhere, and the
 * process that holds the key settles it.
 */
@Injectable()
export class SignerDirectory {
  private known: { byNetwork: ReadonlyMap<Network, ReadonlySet<Address>>; at: number } | null = null

  constructor(
    private readonly ledger: Ledger,
    private readonly chains: Chains,
  ) {}

  async accepted(): Promise<ReadonlyMap<Network, ReadonlySet<Address>>> {
    if (this.known === null || Date.now() - this.known.at > REFRESH_MILLISECONDS) {
      const alive = new Date(Date.now() - ALIVE_MILLISECONDS)
      const rows = await this.ledger.db.select().from(signers).where(gt(signers.seenAt, alive))
      const byNetwork = new Map(
        this.chains
          .all()
          .map(({ network, signers: own }) => [
            network,
            new Set([...own.keys(), ...rows.filter((row) => row.network === network).map((row) => row.address)]),
          ]),
      )
      this.known = { byNetwork, at: Date.now() }
    }
    return this.known.byNetwork
  }

  /** The address that offers carry: the lowest, so that every replica offers the same. */
  async offered(network: Network): Promise<Address | undefined> {
    return [...((await this.accepted()).get(network) ?? [])].sort()[0]
  }
}
