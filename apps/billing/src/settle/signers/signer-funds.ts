import { Injectable } from '@nestjs/common'
import type { Address } from '@upfront/protocol'
import { and, eq } from 'drizzle-orm'
import type { Chain } from '../../chain/chain.js'
import { PLAIN_SETTLEMENT_GAS } from '../../chain/settlement-gas.js'
import { Environment } from '../../environment/environment.js'
import { sumPromisedGas, sumSpentGas } from '../../ledger/gas-sums.js'
import { isInState } from '../../ledger/is-in-state.js'
import { Ledger } from '../../ledger/ledger.js'
import { payments } from '../../ledger/schema.js'
import { BillingMetrics } from '../../metrics.js'

const FRESH_MS = 2_000

/** How many settlements each signer can still pay for. Nothing may be authorized that its signer can't settle. */
@Injectable()
export class SignerFunds {
  private readonly known = new Map<string, { left: Promise<number>; at: number }>()

  constructor(
    private readonly ledger: Ledger,
    private readonly metrics: BillingMetrics,
    private readonly environment: Environment,
  ) {}

  /** With fewer settlements left, a signer accepts no payment. */
  get fewest(): number {
    return this.environment.LIMITS.minSettlements
  }

  /** Whether the signer may accept another payment. Throws `NodeFault`. */
  async canSettle(chain: Chain, signer: Address): Promise<boolean> {
    return (await this.settlementsLeft(chain, signer)) >= this.fewest
  }

  /**
   * How many settlements the signer's balance and remaining daily gas budget pay for at current fees (with L1 fees), after what all open
   * payments may use. At most two seconds old. Throws `NodeFault`.
   */
  settlementsLeft(chain: Chain, signer: Address): Promise<number> {
    const key = `${chain.network}/${signer}`
    const known = this.known.get(key)
    if (known !== undefined && Date.now() - known.at < FRESH_MS) return known.left
    const left = this.read(chain, signer)
    this.known.set(key, { left, at: Date.now() })
    // Failed reads are not cached.
    left.catch(() => this.known.delete(key))
    return left
  }

  /** Deducts a payment accepted since the last read. */
  promised({ network }: Pick<Chain, 'network'>, signer: Address, gas: bigint): void {
    const known = this.known.get(`${network}/${signer}`)
    if (known === undefined) return
    const settlements = Number((gas + PLAIN_SETTLEMENT_GAS - 1n) / PLAIN_SETTLEMENT_GAS)
    known.left = known.left.then((left) => Math.max(left - settlements, 0))
    known.left.catch(() => undefined)
  }

  private async read(chain: Chain, signer: Address): Promise<number> {
    const { network } = chain
    const [balance, price, spent] = await Promise.all([
      chain.latest.balance(signer),
      chain.gasPrice(),
      sumSpentGas(this.ledger.db, { network, signer }),
    ])
    const isOpen = and(
      eq(payments.network, network),
      eq(payments.facilitator, signer),
      isInState('authorized', 'charging', 'submitted'),
    )
    const promised = await sumPromisedGas(this.ledger.db, isOpen, price)
    // Nodes require a balance for the gas limit of a transaction in flight, not for the gas that it uses.
    const cost = PLAIN_SETTLEMENT_GAS * price.maxFeePerGas + price.l1Fee
    const paidBy = (wei: bigint) => (cost === 0n ? Number.POSITIVE_INFINITY : Number((wei - promised) / cost))
    const left = Math.max(Math.min(paidBy(balance), paidBy(chain.dailyGasBudget - spent)), 0)
    this.metrics.signerSettlementsLeft.set({ network, signer }, left)
    return left
  }
}
