import type { Address } from '@upfront/protocol'
import { errorText } from '@upfront/service'
import { and, eq } from 'drizzle-orm'
import { size } from 'viem'
import { NodeRefusal } from '../../chain/node-error.js'
import { type Claimant, claimCharges, releaseCharges } from '../../ledger/claim-work.js'
import { type PaymentRow, type SignedTransactionRow, signers } from '../../ledger/schema.js'
import { Delegation } from '../signers/delegation.js'
import type { Intent } from '../signers/sign.js'
import { intentOf, prepare, type Settlement } from '../signers/signing-queue.js'
import type { Settling } from '../submissions.js'

/** Slightly below EIP-7825's limit for a transaction. */
const MAX_GAS = 16_000_000n

/** Slightly below 128 KiB, above which nodes refuse a transaction. A payer's contract may take signatures of 8 KiB. */
const MAX_BYTES = 125_000

/** Wei. By default geth refuses a transaction that may cost more than 1 ether; this leaves room for raised fees. */
const MAX_COST = 5n * 10n ** 17n

/** Result of a signer's turn to send a batch. */
export interface BatchTurn {
  /** Stored, to be broadcast: a batch, or the delegation of the signer's account. */
  transaction: SignedTransactionRow | null
  /** The payments in the batch. */
  settled: readonly PaymentRow[]
  /** Charges that would not settle now. */
  doubtful: readonly PaymentRow[]
}

const NOTHING: BatchTurn = { transaction: null, settled: [], doubtful: [] }

/**
 * Settles many payments of one signer in one transaction of its delegated account. Nodes' pools hold only one transaction of such an
 * account, so each signer has one in flight; new charges wait for the next batch.
 */
export class Batches {
  readonly #delegation: Delegation
  /** By signer: payments whose transaction can't be mined any more. They go first. */
  readonly #again = new Map<Address, PaymentRow[]>()
  readonly #signedAt = new Map<Address, number>()
  readonly #settling: Settling

  constructor(settling: Settling) {
    this.#settling = settling
    this.#delegation = new Delegation(settling)
  }

  /** Whether this signer's payments are settled in batches. */
  serves(signer: Address): boolean {
    return this.#settling.environment.SETTLEMENT === 'batch' && this.obstacleOf(signer) === null
  }

  /** Why this signer can't send batches; `null` if no reason is known. */
  obstacleOf(signer: Address): string | null {
    return this.#delegation.obstacleOf(signer)
  }

  /** Looks again at what kept signers from sending batches. Throws `NodeFault`. */
  reexamineObstacles(): Promise<void> {
    return this.#delegation.reexamine()
  }

  /** Adds a payment that must be signed again to the signer's next batch. */
  putBack(payment: PaymentRow): void {
    const again = this.#again.get(payment.facilitator) ?? []
    this.#again.set(payment.facilitator, [...again.filter(({ id }) => id !== payment.id), payment])
  }

  /** Whether a payment waits to be signed again. */
  hasPutBack(signer: Address): boolean {
    return (this.#again.get(signer)?.length ?? 0) > 0
  }

  /** Milliseconds until the signer may send its next batch. */
  pauseOf(signer: Address): number {
    const signedAt = this.#signedAt.get(signer) ?? Number.NEGATIVE_INFINITY
    return Math.max(signedAt + this.#settling.environment.LIMITS.batchIntervalMs - Date.now(), 0)
  }

  /**
   * If the signer has nothing in flight, claims its charges and signs one transaction for as many as fit. Calls for the same signer must
   * not overlap. Throws `NodeFault`.
   */
  async take(signer: Address, claimant: Claimant): Promise<BatchTurn> {
    const nonce = await this.#readFreeNonce(signer)
    if (nonce === null) return NOTHING
    const delegation = await this.#delegation.ensure(signer, nonce)
    if (delegation === null) return NOTHING
    if (delegation !== 'delegated') return { ...NOTHING, transaction: delegation }
    const { batchSize } = this.#settling.environment.LIMITS
    const waiting = this.#again.get(signer) ?? []
    this.#again.set(signer, waiting.slice(batchSize))
    const again = waiting.slice(0, batchSize)
    const charges = [...again, ...(await this.#claim(signer, claimant, batchSize - again.length))]
    const { settlements, doubtful } = await this.#prepare(charges)
    const signed = settlements.length === 0 ? NOTHING : await this.#sign(signer, settlements, nonce)
    return { ...signed, doubtful }
  }

  /** The signer's next nonce; `null` if one of its transactions is in flight, from any process. */
  async #readFreeNonce(signer: Address): Promise<number | null> {
    const { chain, db } = this.#settling
    const isSigner = and(eq(signers.network, chain.network), eq(signers.address, signer))
    const [lease] = await db.select({ nextNonce: signers.nextNonce }).from(signers).where(isSigner)
    if (lease === undefined) return null
    const count = await chain.latest.transactionCount(signer)
    return lease.nextNonce === count ? count : null
  }

  /** Claims charges, earliest deadline first. */
  async #claim(signer: Address, claimant: Claimant, count: number): Promise<PaymentRow[]> {
    return count > 0 ? claimCharges(this.#settling.db, claimant, [{ signer, count }]) : []
  }

  /** Charges for which the node does not answer are taken up again later, like all claimed work. */
  async #prepare(charges: readonly PaymentRow[]) {
    const { chain, logger } = this.#settling
    const settlements: Settlement[] = []
    const doubtful: PaymentRow[] = []
    const one = async (payment: PaymentRow) => {
      try {
        const settlement = await prepare(chain, payment)
        if (settlement === null) doubtful.push(payment)
        else settlements.push(settlement)
      } catch (error) {
        const ids = { paymentId: payment.id, network: chain.network }
        logger.warn({ ...ids, reason: errorText(error) }, 'a charge is waiting for the node')
      }
    }
    await Promise.all(charges.map(one))
    return { settlements, doubtful }
  }

  async #sign(
    signer: Address,
    settlements: readonly Settlement[],
    nonce: number,
  ): Promise<Pick<BatchTurn, 'transaction' | 'settled'>> {
    const { chain, db, signing } = this.#settling
    const [fees, balance] = await Promise.all([chain.fees(), chain.latest.balance(signer)])
    const fitting = await this.#fit(
      signer,
      settlements,
      (balance < MAX_COST ? balance : MAX_COST) / (fees.maxFeePerGas || 1n),
    )
    const transaction = await signing.sign(chain, fitting, fees, nonce)
    if (transaction !== null) this.#signedAt.set(signer, Date.now())
    const left = transaction === null ? settlements : settlements.slice(fitting.length)
    const payments = left.map(({ payment }) => payment)
    await releaseCharges(db, payments)
    for (const payment of payments) if (payment.state === 'submitted') this.putBack(payment)
    return { transaction, settled: transaction === null ? [] : fitting.map(({ payment }) => payment) }
  }

  /** As many settlements as fit in one transaction and the signer can pay for. Only the first if the node refuses the batch. */
  async #fit(signer: Address, settlements: readonly Settlement[], affordable: bigint): Promise<readonly Settlement[]> {
    const most = affordable < MAX_GAS ? affordable : MAX_GAS
    const exceeds = ({ gas, data }: Intent) => gas > most || size(data) > MAX_BYTES
    let count = settlements.length
    while (count > 1 && exceeds(intentOf(settlements.slice(0, count)))) count = Math.ceil(count / 2)
    if (count === 1) return settlements.slice(0, 1)
    const fitting = settlements.slice(0, count)
    const { to, data, gas } = intentOf(fitting)
    const { chain, logger } = this.#settling
    try {
      await chain.latest.call(to, data, { from: signer, gas })
      return fitting
    } catch (error) {
      if (!(error instanceof NodeRefusal)) throw error
      const ids = { network: chain.network, signer }
      logger.warn({ ...ids, reason: error.message }, 'a batch was refused; sending one payment alone')
      return fitting.slice(0, 1)
    }
  }
}
