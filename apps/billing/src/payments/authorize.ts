import { randomUUID } from 'node:crypto'
import { Injectable } from '@nestjs/common'
import {
  type Address,
  type AuthorizeRequest,
  type AuthorizeResult,
  type Network,
  RefusalReason,
} from '@upfront/protocol'
import type { Chain } from '../chain/chain.js'
import { Chains } from '../chain/chains.js'
import { NodeBusy } from '../chain/node-error.js'
import { type SettlementGas, UNPAID_CODE_GAS } from '../chain/settlement-gas.js'
import { Catalogue, type Listing, type Sale } from '../discovery/catalogue.js'
import { toPayment } from '../ledger/change-payment.js'
import { findPaymentById } from '../ledger/find-payment.js'
import { Ledger, type Transaction } from '../ledger/ledger.js'
import { type PayerStanding, readStandings } from '../ledger/refused-payers.js'
import {
  KeyTaken,
  type Reservation as Place,
  readReserved,
  readSponsored,
  reservePayments,
  type Sponsoring,
  type Wanted,
} from '../ledger/reserve.js'
import type { PaymentRow } from '../ledger/schema.js'
import { SharedTurns } from '../ledger/shared-turns.js'
import { BillingMetrics } from '../metrics.js'
import { SignerFunds } from '../settle/signers/signer-funds.js'
import { decodePaymentRequest, type PaymentRequest } from '../verify/payment-request.js'
import {
  type Holdings,
  type ReadAuthorization,
  readAuthorization,
  readHoldings,
  verifyOnChain,
} from '../verify/verify.js'
import { findFirstResult, hashInput, type KeyedCall, takeKey } from './idempotency.js'
import { SignerDirectory } from './signer-directory.js'

type Refused = Extract<AuthorizeResult, { outcome: 'refused' }>
type Verified = ReadAuthorization & { holdings: Holdings; settlementGas: SettlementGas }
type Stored = { outcome: 'reserved'; payment: PaymentRow } | Refused
/** `listing`: whether what the payment is for is listed; it never rejects. */
type Reservation = (Exclude<Stored, Refused> & { listing: Promise<Listing | null> }) | Refused

type Extend = (tx: Transaction, payment: PaymentRow) => Promise<PaymentRow>

interface ReservationTerms {
  /** Its key is taken in the transaction that reserves. */
  call?: KeyedCall | null
  /** Runs in that transaction too, on the new payment. */
  extend?: Extend | null
  /** Of the authorization, beside the margin of a settlement. */
  minimumValiditySeconds?: number
}

const PAYER_REFUSED = {
  reason: RefusalReason.payerRefused,
  message: 'a payment of this payer could not be collected, or looks as if it could not be: it is refused for a while',
}
/** In one database transaction. */
const MOST_RESERVATIONS = 20
/** In one statement. */
const MOST_STANDINGS = 100
const NO_SIGNERS: ReadonlySet<Address> = new Set()
/** What a payment is before anything was done with it. */
const NOTHING_YET = {
  state: 'authorized',
  charge: null,
  reason: null,
  transaction: null,
  blockNumber: null,
  blockHash: null,
  gasUsed: null,
  feePaid: null,
  chargedAt: null,
  submittedAt: null,
  finishedAt: null,
  judgedBlock: null,
  takenBackAt: null,
  nextLook: null,
  doubtfulFrom: null,
  doubt: null,
  settleAnswer: null,
} as const

const SIGNER_OUT_OF_GAS = {
  reason: RefusalReason.signerOutOfGas,
  message: "the facilitator's signer can't pay for the gas of another settlement; nothing was reserved",
}

const SPONSORING_SPENT = {
  reason: RefusalReason.sponsoringSpent,
  message: 'enough gas was sponsored today: this payer has to approve Permit2 by a transaction of its own',
}
const CODE_TOO_COSTLY = {
  reason: RefusalReason.payerCodeTooCostly,
  message:
    "the code of the payer's account, or the token, uses more gas than its settled payments of 24 hours are worth: pay more, or from a plain account",
}
const UNCOVERED: ReadonlySet<string> = new Set([RefusalReason.insufficientBalance, RefusalReason.allowanceRequired])
/** Refusals that another moment would not repeat. */
const PASSING: ReadonlySet<string> = new Set([
  ...UNCOVERED,
  RefusalReason.signerOutOfGas,
  RefusalReason.sponsoringSpent,
  RefusalReason.payerCodeTooCostly,
])

/** Verifies and reserves. */
@Injectable()
export class Authorizations {
  /** Those of one payer and token wait for one another in the ledger: together they wait once. */
  private readonly reservations = new SharedTurns<Wanted, Place>(MOST_RESERVATIONS, (wanted) => {
    return reservePayments(this.ledger.db, wanted)
  })

  /** One look of all payments at a time. */
  private readonly standings = new SharedTurns<{ network: Network; payer: Address; nonce: bigint }, PayerStanding>(
    MOST_STANDINGS,
    (authorizations) => readStandings(this.ledger.db, authorizations),
  )

  constructor(
    private readonly ledger: Ledger,
    private readonly chains: Chains,
    private readonly signers: SignerDirectory,
    private readonly funds: SignerFunds,
    private readonly metrics: BillingMetrics,
    private readonly catalogue: Catalogue,
  ) {}

  /** The internal contract's authorize, once per key. Throws `NodeFault` and `BillingError`. */
  async authorize(request: AuthorizeRequest, key: string): Promise<AuthorizeResult> {
    const call: KeyedCall = { key, operation: 'authorize', inputHash: hashInput(request) }
    const { paymentPayload, paymentRequirements, route, minimumValiditySeconds } = request
    const decoded = decodePaymentRequest(paymentPayload, paymentRequirements)
    const sale: Sale = { seller: null, route }
    const result = decoded.valid
      ? await this.reserve(decoded, sale, { call, minimumValiditySeconds })
      : refused(decoded, null)
    this.metrics.authorizations.inc({ outcome: result.outcome === 'reserved' ? 'authorized' : result.reason })
    if (result.outcome === 'reserved') return { outcome: 'authorized', payment: toPayment(result.payment) }
    // Where the key is known already, its first result is the answer: its authorization is refused as used before.
    return this.answerRefused(call, result)
  }

  /** All checks without a reservation: what `POST /verify` answers. Throws `NodeFault`. */
  async check(request: PaymentRequest): Promise<{ outcome: 'valid'; payer: Address } | Refused> {
    const verified = await this.verify(request, 0)
    if ('outcome' in verified) return verified
    const { payer } = verified.authorization
    const account = { network: verified.chain.network, asset: verified.requirements.asset, payer }
    const { maximum } = verified.authorization
    const reserved = await readReserved(this.ledger.db, account, verified.holdings.block)
    const { balance, allowance } = verified.holdings
    const wanted = reserved + maximum
    if (await this.isSponsoringSpent(verified, account)) return refused(sponsoringSpent(verified.holdings), payer)
    if (reserved === 0n || (wanted <= balance && wanted <= allowance)) return { outcome: 'valid', payer }
    return refused(describeShortfall(maximum, reserved, verified.holdings), payer)
  }

  /** Verifies and reserves, in one database transaction. Throws `NodeFault` and `BillingError`. */
  async reserve(
    request: PaymentRequest,
    sale: Sale,
    { call = null, extend = null, minimumValiditySeconds = 0 }: ReservationTerms,
  ): Promise<Reservation> {
    const verified = await this.verify(request, minimumValiditySeconds)
    if ('outcome' in verified) return verified
    let stored = await this.store(verified, verified.holdings, sale, call, extend)
    if (stored.outcome === 'refused' && UNCOVERED.has(stored.reason)) {
      // Its own settlement may have been mined just after the block that the holdings count from.
      await verified.chain.head.refresh()
      const { chain, authorization, permit } = verified
      const holdings = await readHoldings(chain, authorization, permit)
      stored = await this.store(verified, holdings, sale, call, extend)
    }
    if (stored.outcome === 'refused') return stored
    return { ...stored, listing: this.catalogue.note(request.wire.payload, verified.requirements, sale) }
  }

  private async verify(request: PaymentRequest, minimumValiditySeconds: number): Promise<Verified | Refused> {
    const { scheme, network } = request.requirements
    const accepted = (await this.signers.accepted()).get(network) ?? NO_SIGNERS
    const offered = scheme === 'exact' ? await this.signers.offered(network) : []
    const read = await readAuthorization(this.chains, { accepted, offered }, request, minimumValiditySeconds)
    if (!read.valid) return refused(read, read.payer)
    const { payer, nonce } = read.authorization
    const { isUsed, isRefused } = await this.standings.call('all', { network: read.chain.network, payer, nonce })
    if (isUsed) return nonceUsed(payer)
    if (isRefused) return refused(PAYER_REFUSED, payer)
    if (read.chain.node.isBusy) throw new NodeBusy()
    const [verdict, canSettle] = await Promise.all([
      verifyOnChain(read, accepted),
      this.funds.canSettle(read.chain, read.authorization.facilitator),
    ])
    if (!verdict.valid) return refused(verdict, verdict.payer)
    const { settlementGas } = verdict
    return canSettle ? { ...read, holdings: verdict, settlementGas } : refused(SIGNER_OUT_OF_GAS, payer)
  }

  private async isSponsoringSpent(
    { chain, holdings, settlementGas: { excess } }: Verified,
    account: { network: Network; asset: Address; payer: Address },
  ): Promise<boolean> {
    if (excess === 0n) return false
    const { maxFeePerGas } = await chain.fees()
    const sponsoring = sponsoringOf(chain, account.asset, holdings, maxFeePerGas)
    const spent = await readSponsored(this.ledger.db, account, sponsoring)
    return spent + excess * maxFeePerGas > sponsoring.most
  }

  private async store(
    { chain, authorization, permit, settlementGas: { gas: settlementGas, excess } }: Verified,
    holdings: Holdings,
    sale: Sale,
    call: KeyedCall | null,
    extend: Extend | null,
  ): Promise<Stored> {
    const {
      kind,
      payer,
      token: asset,
      maximum,
      signature,
      nonce,
      deadline,
      payTo,
      facilitator,
      validAfter,
    } = authorization
    const sponsored = holdings.isSponsored ? permit : null
    const { maxFeePerGas } = await chain.fees()
    const sponsoring = sponsoringOf(chain, asset, holdings, maxFeePerGas)
    const now = new Date()
    const payment = {
      ...NOTHING_YET,
      id: `pay_${randomUUID()}`,
      ...sale,
      network: chain.network,
      asset,
      payer,
      kind,
      payTo,
      facilitator,
      nonce,
      maximum,
      validAfter,
      deadline,
      signature,
      permitDeadline: sponsored?.deadline ?? null,
      permitSignature: sponsored?.signature ?? null,
      sponsoredGas: excess === 0n ? null : excess * maxFeePerGas,
      settlementGas,
      authorizedBlock: holdings.block,
      createdAt: now,
      updatedAt: now,
    }
    const event = {
      maximum: maximum.toString(),
      deadline: deadline.toString(),
      ...(payment.sponsoredGas === null ? {} : { sponsoredGas: payment.sponsoredGas.toString() }),
    }
    const key = call === null ? null : { ...call, paymentId: payment.id, createdAt: now }
    const wanted = { payment, event, key, holdings, sponsoring }
    const conclude = ({ outcome, reserved, sequence }: Place): Stored => {
      if (sequence !== null) {
        this.metrics.transitions.inc({ state: 'authorized' })
        this.funds.promised(chain, facilitator, settlementGas)
        return { outcome: 'reserved', payment: { ...payment, sequence } }
      }
      if (outcome === 'overspent') return refused(sponsoringSpent(holdings), payer)
      return outcome === 'used' ? nonceUsed(payer) : refused(describeShortfall(maximum, reserved, holdings), payer)
    }
    try {
      if (extend === null) return conclude(await this.reservations.call(`${chain.network}/${asset}/${payer}`, wanted))
      return await this.ledger.db.transaction(async (tx) => {
        const [place] = await reservePayments(tx, [wanted])
        const result = conclude(place!)
        return result.outcome === 'reserved' ? { ...result, payment: await extend(tx, result.payment) } : result
      })
    } catch (error) {
      if (!(error instanceof KeyTaken) || call === null) throw error
      const first = await findFirstResult(this.ledger.db, call)
      if (first?.refusal) return { outcome: 'refused', ...first.refusal }
      const found = first?.paymentId == null ? null : await findPaymentById(this.ledger.db, first.paymentId)
      return found === null ? nonceUsed(payer) : { outcome: 'reserved', payment: found }
    }
  }

  /**
   * The key's first result, where another call took the key meanwhile. A refusal that the state of a moment decides becomes the
   * key's result; others come out the same each time, and are not stored: whoever sends rubbish leaves nothing.
   */
  private async answerRefused(call: KeyedCall, refusal: Refused): Promise<AuthorizeResult> {
    const { reason, message, payer } = refusal
    const first = await this.ledger.db.transaction(async (tx) => {
      const isKept =
        PASSING.has(reason) && (await takeKey(tx, call, { paymentId: null, refusal: { reason, message, payer } }))
      return isKept ? null : findFirstResult(tx, call)
    })
    if (first === null) return refusal
    if (first.refusal !== null) return { outcome: 'refused', ...first.refusal }
    const payment = await findPaymentById(this.ledger.db, first.paymentId ?? '')
    if (payment === null) throw new Error('an idempotency key points to no payment')
    return { outcome: 'authorized', payment: toPayment(payment) }
  }
}

/** What may be sponsored of one payer: permits where the chain sponsors them, and code for a start, so that wallets can pay. */
function sponsoringOf(chain: Chain, asset: Address, { isSponsored }: Holdings, maxFeePerGas: bigint): Sponsoring {
  const { dailySponsoredGas, weiPerToken, tokens } = chain
  const most = (dailySponsoredGas ?? 0n) + (isSponsored ? 0n : UNPAID_CODE_GAS * maxFeePerGas)
  return { most, weiPerToken, decimals: tokens.get(asset)?.decimals ?? 0 }
}

function sponsoringSpent({ isSponsored }: Holdings): { reason: string; message: string } {
  return isSponsored ? SPONSORING_SPENT : CODE_TOO_COSTLY
}

function refused({ reason, message }: { reason: string; message: string }, payer: Address | null): Refused {
  return { outcome: 'refused', reason, message, payer }
}

function nonceUsed(payer: Address): Refused {
  return refused({ reason: RefusalReason.nonceUsed, message: 'this authorization was used before' }, payer)
}

/** Why `maximum` is not covered beside what is reserved. */
function describeShortfall(maximum: bigint, reserved: bigint, { balance, allowance }: Holdings) {
  const lacksBalance = balance < reserved + maximum
  const held = lacksBalance ? balance : allowance
  return {
    reason: lacksBalance ? RefusalReason.insufficientBalance : RefusalReason.allowanceRequired,
    message: `${maximum} is asked, ${reserved} of ${held} is reserved by other payments`,
  }
}
