import { Injectable } from '@nestjs/common'
import type { Address } from '@upfront/protocol'
import { and, count, eq, inArray } from 'drizzle-orm'
import type { Chain } from '../../chain/chain.js'
import { Environment } from '../../environment/environment.js'
import { Ledger } from '../../ledger/ledger.js'
import { payments } from '../../ledger/schema.js'
import { BillingMetrics } from '../../metrics.js'
import { GasPolicy } from './gas-policy.js'

/** What nodes ask a signer to hold for one settlement in flight: its gas limit, not what it will use. */
const SETTLEMENT_GAS = 130_000n
const FRESH_MILLISECONDS = 2_000

/** What each signer can still pay for: nothing may be sold that it has no gas to settle. */
@Injectable()
export class SignerFunds {
  private readonly known = new Map<string, { left: Promise<number>; at: number }>()

  constructor(
    private readonly ledger: Ledger,
    private readonly gasPolicy: GasPolicy,
    private readonly metrics: BillingMetrics,
    private readonly environment: Environment,
  ) {}

  /** Below so many settlements, a signer takes on no payment. */
  get fewest(): number {
    return this.environment.SIGNER_MIN_SETTLEMENTS
  }

  /** Whether the signer may take on another payment. Throws `NodeFault`. */
  async canSettle(chain: Chain, signer: Address): Promise<boolean> {
    return (await this.settlementsLeft(chain, signer)) >= this.fewest
  }

  /**
   * How many settlements the signer's balance pays for at the fees of now, beside those of the payments that are open; none
   * once its gas budget of the day is spent. At most two seconds old. Throws `NodeFault`.
   */
  settlementsLeft(chain: Chain, signer: Address): Promise<number> {
    const key = `${chain.network}/${signer}`
    const known = this.known.get(key)
    if (known !== undefined && Date.now() - known.at < FRESH_MILLISECONDS) return known.left
    const left = this.read(chain, signer)
    this.known.set(key, { left, at: Date.now() })
    // What failed is asked anew.
    left.catch(() => this.known.delete(key))
    return left
  }

  private async read(chain: Chain, signer: Address): Promise<number> {
    const { network } = chain
    const [balance, { maxFeePerGas }, isSpent, [open]] = await Promise.all([
      chain.balance(signer),
      chain.fees(),
      this.gasPolicy.isSpent(chain, signer),
      this.ledger.db
        .select({ payments: count(), permits: count(payments.permitSignature) })
        .from(payments)
        .where(
          and(
            eq(payments.network, network),
            eq(payments.facilitator, signer),
            inArray(payments.state, ['authorized', 'charging', 'submitted']),
          ),
        ),
    ])
    const cost = SETTLEMENT_GAS * maxFeePerGas
    // A permit costs about as much again.
    const taken = (open?.payments ?? 0) + (open?.permits ?? 0)
    const paid = cost === 0n ? Number.POSITIVE_INFINITY : Math.max(Number(balance / cost) - taken, 0)
    const left = isSpent ? 0 : paid
    this.metrics.signerSettlementsLeft.set({ network, signer }, left)
    return left
  }
}
