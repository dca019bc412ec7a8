import { Injectable } from '@nestjs/common'
import type { Address, Network } from '@upfront/protocol'
import { sql } from 'drizzle-orm'
import type { Chain } from '../../chain/chain.js'
import { sumSpentGas } from '../../ledger/gas-sums.js'
import { Ledger } from '../../ledger/ledger.js'
import { signedTransactions } from '../../ledger/schema.js'
import { BillingMetrics } from '../../metrics.js'

const WAITS = ['cheaper gas', 'gas budget'] as const
/** Why a signer may not sign anything now. */
export type GasWait = (typeof WAITS)[number]

/** Enforces the chain's gas bounds, `maxFeePerGas` and `dailyGasBudget`. */
@Injectable()
export class GasPolicy {
  private readonly waits = new Map<string, GasWait>()

  constructor(
    private readonly ledger: Ledger,
    private readonly metrics: BillingMetrics,
  ) {}

  /** Updates what each signer of the chain has to wait for. Throws `NodeFault`. */
  async refresh(chain: Chain): Promise<void> {
    const isCheap = await chain.isGasCheapEnough()
    for (const signer of chain.signers.keys()) {
      const wait = isCheap ? ((await this.isSpent(chain, signer)) ? 'gas budget' : null) : 'cheaper gas'
      if (wait === null) this.waits.delete(keyOf(chain, signer))
      else this.waits.set(keyOf(chain, signer), wait)
      const labels = { network: chain.network, signer }
      for (const known of WAITS) this.metrics.signerWaits.set({ ...labels, for: known }, known === wait ? 1 : 0)
    }
  }

  /** As of the last refresh; `null` if it may sign. */
  waitOf(chain: Pick<Chain, 'network'>, signer: Address): GasWait | null {
    return this.waits.get(keyOf(chain, signer)) ?? null
  }

  /** Whether the signer's gas of the last 24 hours, including transactions in flight, has reached its budget. */
  private async isSpent({ network, dailyGasBudget }: Chain, signer: Address): Promise<boolean> {
    const spent = await sumSpentGas(this.ledger.db, { network, signer })
    return spent + (await this.readInFlight(network, signer)) >= dailyGasBudget
  }

  /** Upper bound in wei for transactions that may still be mined: the most expensive one of each nonce. */
  private async readInFlight(network: Network, signer: Address): Promise<bigint> {
    const isOfSigner = sql`network = ${network} and signer = ${signer}`
    const [open] = await this.ledger.db.select({ wei: sql<string>`coalesce(sum(wei), 0)::text` }).from(
      sql`(select max(gas * max_fee_per_gas) as wei from ${signedTransactions} where ${isOfSigner} and status = 'open'
          and nonce > coalesce((select max(nonce) from ${signedTransactions} where ${isOfSigner} and status = 'mined'), -1)
          group by nonce) as by_nonce`,
    )
    return BigInt(open?.wei ?? 0)
  }
}

function keyOf({ network }: Pick<Chain, 'network'>, signer: Address): string {
  return `${network}/${signer}`
}
