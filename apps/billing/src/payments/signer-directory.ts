import { Injectable } from '@nestjs/common'
import type { Address, Network } from '@upfront/protocol'
import { gt } from 'drizzle-orm'
import { cacheFor } from '../chain/cache-for.js'
import type { Chain } from '../chain/chain.js'
import { Chains } from '../chain/chains.js'
import { OPTIONAL_CHECK_TIMEOUT_MS, raceTimeout } from '../chain/race-timeout.js'
import { Environment } from '../environment/environment.js'
import { Ledger } from '../ledger/ledger.js'
import { signers } from '../ledger/schema.js'
import { SignerFunds } from '../settle/signers/signer-funds.js'

/** Each recovery round is a heartbeat. After this many missed rounds a process's signers are retired. */
const MISSED_ROUNDS = 5

/**
 * The signers of all billing processes on this ledger. Every process accepts authorizations for all of them; the process with the key
 * settles.
 */
@Injectable()
export class SignerDirectory {
  /** Signers with a recent heartbeat, by network. A retired signer is neither offered nor accepted. */
  readonly accepted: () => Promise<ReadonlyMap<Network, ReadonlySet<Address>>>

  constructor(
    private readonly ledger: Ledger,
    private readonly chains: Chains,
    private readonly funds: SignerFunds,
    { LIMITS: { recoveryMs } }: Environment,
  ) {
    this.accepted = cacheFor(recoveryMs, () => this.readAlive(recoveryMs))
  }

  /**
   * Signers that offers may name, lowest address first: accepted signers with gas for settlements. If none has gas, the lowest one, whose
   * authorizations are then refused with the reason. The choice can't depend on the payer: the offer is made before the payer is known, and
   * the buyer's signature names the signer.
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

  /** A node that does not answer in time does not affect offers. */
  private mayPay(chain: Chain, signer: Address): Promise<boolean> {
    return raceTimeout(OPTIONAL_CHECK_TIMEOUT_MS, this.funds.canSettle(chain, signer), true).catch(() => true)
  }
}
