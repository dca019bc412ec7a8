import { Injectable } from '@nestjs/common'
import type { Address, Network } from '@upfront/protocol'
import { and, desc, eq, gt, sql } from 'drizzle-orm'
import type { Chain } from '../../chain/chain.js'
import { Ledger } from '../../ledger/ledger.js'
import { gas, signedTransactions } from '../../ledger/schema.js'
import { BillingMetrics } from '../../metrics.js'

const DAY_MILLISECONDS = 24 * 3_600_000
const WAITS = ['cheaper gas', 'gas budget'] as const
/** What a signer waits for before it signs anything more. */
export type GasWait = (typeof WAITS)[number]

/** Holds signers to the chain's bounds on gas: `maxFeePerGas` and `dailyGasBudget`. */
@Injectable()
export class GasPolicy {
  private readonly waits = new Map<string, GasWait>()

  constructor(
    private readonly ledger: Ledger,
    private readonly metrics: BillingMetrics,
  ) {}

  /** Looks what each own signer of the chain has to wait for. Throws `NodeFault`. */
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

  /** As of the last look; `null`: it may sign. */
  waitOf(chain: Pick<Chain, 'network'>, signer: Address): GasWait | null {
    return this.waits.get(keyOf(chain, signer)) ?? null
  }

  /** Whether the signer's gas of the last 24 hours, with what is in flight, has used up its budget. */
  async isSpent(
    { network, dailyGasBudget }: Pick<Chain, 'network' | 'dailyGasBudget'>,
    signer: Address,
  ): Promise<boolean> {
    return (await this.readSpent(network, signer)) + (await this.readInFlight(network, signer)) >= dailyGasBudget
  }

  /** Wei that the signer's mined transactions of 24 hours have cost. */
  async readSpent(network: Network, signer: Address): Promise<bigint> {
    const since = new Date(Date.now() - DAY_MILLISECONDS)
    const [spent] = await this.ledger.db
      .select({ fee: sql<string>`coalesce(sum(${gas.fee}), 0)::text` })
      .from(gas)
      .where(and(eq(gas.network, network), eq(gas.signer, signer), gt(gas.recordedAt, since)))
    return BigInt(spent?.fee ?? 0)
  }

  /** Wei that transactions which may still be mined can cost: of each nonce the dearest. */
  private async readInFlight(network: Network, signer: Address): Promise<bigint> {
    const isOfSigner = and(eq(signedTransactions.network, network), eq(signedTransactions.signer, signer))
    const mined = this.ledger.db
      .select({ nonce: signedTransactions.nonce })
      .from(signedTransactions)
      .where(and(isOfSigner, eq(signedTransactions.status, 'mined')))
      .orderBy(desc(signedTransactions.nonce))
      .limit(1)
    const byNonce = this.ledger.db
      .select({
        wei: sql<string>`max(${signedTransactions.gas} * ${signedTransactions.maxFeePerGas})`.as('wei'),
      })
      .from(signedTransactions)
      .where(
        and(
          isOfSigner,
          sql`${signedTransactions.status} = 'open'`,
          sql`${signedTransactions.nonce} > coalesce((${mined}), -1)`,
        ),
      )
      .groupBy(signedTransactions.nonce)
      .as('by_nonce')
    const [open] = await this.ledger.db
      .select({ wei: sql<string>`coalesce(sum(${byNonce.wei}), 0)::text` })
      .from(byNonce)
    return BigInt(open?.wei ?? 0)
  }
}

function keyOf({ network }: Pick<Chain, 'network'>, signer: Address): string {
  return `${network}/${signer}`
}
