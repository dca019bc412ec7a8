import { Injectable } from '@nestjs/common'
import type { Address, Network } from '@upfront/protocol'
import { gt } from 'drizzle-orm'
import { aged } from '../chain/aged.js'
import type { Chain } from '../chain/chain.js'
import { Chains } from '../chain/chains.js'
import { PATIENCE_MILLISECONDS, unlessLonger } from '../chain/unless-longer.js'
import { Environment } from '../environment/environment.js'
import { Ledger } from '../ledger/ledger.js'
import { signers } from '../ledger/schema.js'
import { SignerFunds } from '../settle/signers/signer-funds.js'

/** Heartbeats come with every recovery round; the signer of a process without several of them is retired. */
const MISSED_ROUNDS = 5

/**
 * The signers of all billing processes on this ledger. An authorization for any of them is accepted anywhere, and the
 * process that holds the key settles it.
 */
@Injectable()
export class SignerDirectory {
  /** Those of processes that were seen lately: from the moment on that a signer is retired, it is neither offered nor accepted. */
  readonly accepted: () => Promise<ReadonlyMap<Network, ReadonlySet<Address>>>

  constructor(
    private readonly ledger: Ledger,
    private readonly chains: Chains,
    private readonly funds: SignerFunds,
    { LIMITS: { recoveryMs } }: Environment,
  ) {
    this.accepted = aged(recoveryMs, () => this.readAlive(recoveryMs))
  }

  /**
   * The signers that offers may name, lowest address first: of those that are accepted, those with gas for settlements. Where none has any, the
   * lowest: its authorizations are refused with the reason. An offer is made before anybody knows who pays, and the buyer's
   * signature names the signer, so it can't depend on the payer.
   */
  async offered(network: Network): Promise<Address[]> {
    const chain = this.chains.get(network)
    if (chain === undefined) return []
    const candidates = [...((await this.accepted()).get(network) ?? [])].sort()
    if (candidates.length === 1) return candidates
    const able = await Promise.all(candidates.map((signer) => this.mayPay(chain, signer)))
    const offered = candidates.filter((_, index) => able[index])
    return offered.length === 0 ? candidates.slice(0, 1) : offered
  }

  private async readAlive(recoveryMs: number): Promise<ReadonlyMap<Network, ReadonlySet<Address>>> {
    const alive = new Date(Date.now() - MISSED_ROUNDS * recoveryMs)
    const rows = await this.ledger.db.select().from(signers).where(gt(signers.seenAt, alive))
    return new Map(
      this.chains.all().map(({ network, signers: own }) => {
        const others = rows.filter((row) => row.network === network).map(({ address }) => address)
        return [network, new Set([...own.keys(), ...others])]
      }),
    )
  }

  /** A node that does not answer soon changes no offer. */
  private mayPay(chain: Chain, signer: Address): Promise<boolean> {
    return unlessLonger(PATIENCE_MILLISECONDS, this.funds.canSettle(chain, signer), true).catch(() => true)
  }
}
