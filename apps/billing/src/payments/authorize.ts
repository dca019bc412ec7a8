import { randomUUID } from 'node:crypto'
import { Injectable } from '@nestjs/common'
import {
  type Address,
  type AuthorizeRequest,
  type AuthorizeResult,
  decodePaymentIdentifier,
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
  isKeyTaken,
  type Reservation as Place,
  reservePayments,
  type Sponsoring,
  type Wanted,
} from '../ledger/reserve.js'
import type { PaymentRow } from '../ledger/schema.js'
import { SharedTurns } from '../ledger/shared-turns.js'
import { BillingMetrics } from '../metrics.js'
import { SignerFunds } from '../settle/signers/signer-funds.js'
import {
  decodePaymentRequest,
  type PaymentRequest,
  type Refusal,
  type Refused,
  refused,
} from '../verify/payment-request.js'
import {
  type Holdings,
  type ReadAuthorization,
  readAuthorization,
  readHoldings,
  verifyOnChain,
} from '../verify/verify.js'
import { findFirstResult, hashInput, type KeyedCall, keepResult } from './idempotency.js'
import {
  CODE_TOO_COSTLY,
  describeShortfall,
  IDENTIFIER_TAKEN,
  PAYER_REFUSED,
  SIGNER_OUT_OF_GAS,
  SPONSORING_SPENT,
  USED_BEFORE,
} from './refusal.js'
import { SignerDirectory } from './signer-directory.js'

type Verified = ReadAuthorization & { holdings: Holdings; settlementGas: SettlementGas }
type Stored = { outcome: 'reserved'; payment: PaymentRow } | Refused
/** `listing`: whether the payment's resource is listed. Never rejects. */
type Reservation = (Exclude<Stored, Refused> & { listing: Promise<Listing | null> }) | Refused
/** Changes a new payment in the transaction that reserves it. */
export type Extend = (tx: Transaction, payment: PaymentRow) => Promise<PaymentRow>

interface ReservationTerms {
  id?: string
  /** The call's idempotency key, taken in the reserving transaction. */
  call?: KeyedCall | null
  /** Of x402's `payment-identifier` extension: names one payment of the payer to the recipient for 24 hours. */
  identifier?: string | null
  extend?: Extend | null
}

/** Per database transaction. */
const MAX_RESERVATIONS = 20
/** Per statement. */
const MAX_STANDINGS = 100
const NO_SIGNERS: ReadonlySet<Address> = new Set()
/** Initial columns of a payment. */
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

const UNCOVERED: ReadonlySet<string> = new Set([RefusalReason.insufficientBalance, RefusalReason.allowanceRequired])
/** Refusals that may not repeat at another time. */
const PASSING: ReadonlySet<string> = new Set([
  ...UNCOVERED,
  RefusalReason.identifierTaken,
  RefusalReason.signerOutOfGas,
  RefusalReason.sponsoringSpent,
  RefusalReason.payerCodeTooCostly,
])

/** Verifies and reserves payments. */
@Injectable()
export class Authorizations {
  /** Reservations of one payer and token take a lock in the ledger; sharing turns, they wait for it once. */
  private readonly reservations = new SharedTurns<Wanted, Place>(MAX_RESERVATIONS, (wanted) => {
    return reservePayments(this.ledger.db, wanted)
  })

  /** Lookups of all payments share turns. */
  private readonly standings = new SharedTurns<{ network: Network; payer: Address; nonce: bigint }, PayerStanding>(
    MAX_STANDINGS,
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

  /** Authorizes for the internal API, once per key. Throws `NodeFault` and `BillingError`. */
  async authorize(request: AuthorizeRequest, key: string): Promise<AuthorizeResult> {
    const call: KeyedCall = { key, operation: 'authorize', inputHash: hashInput(request) }
    const result = await this.reserveNew(request, call)
    this.metrics.authorizations.inc({ outcome: result.outcome === 'reserved' ? 'authorized' : result.reason })
    if (result.outcome === 'reserved') return { outcome: 'authorized', payment: toPayment(result.payment) }
    return this.answerRefused(call, result)
  }

  private async reserveNew(request: AuthorizeRequest, call: KeyedCall): Promise<Reservation> {
    const { paymentPayload, paymentRequirements, route, minimumValiditySeconds } = request
    const decoded = decodePaymentRequest(paymentPayload, paymentRequirements)
    if ('outcome' in decoded) return decoded
    const identifier = decodePaymentIdentifier(decoded.original.payload.extensions) ?? null
    const verified = await this.verify(decoded, minimumValiditySeconds)
    return 'outcome' in verified ? verified : this.reserve(verified, { seller: null, route }, { call, identifier })
  }

  /** Runs all checks without reserving, for `POST /verify`. Throws `NodeFault`. */
  async check(request: PaymentRequest): Promise<{ outcome: 'valid'; payer: Address } | Refused> {
    const verified = await this.verify(request)
    if ('outcome' in verified) return verified
    const { payer } = verified.authorization
    const { wanted, refusalOf } = await this.prepare(verified, verified.holdings, { seller: null, route: null }, {})
    const [place] = await reservePayments(this.ledger.db, [{ ...wanted, event: null }])
    const refusal = refusalOf(place!)
    return refusal === null ? { outcome: 'valid', payer } : refused(refusal, payer)
  }

  /** Reserves in one database transaction. Throws `NodeFault`. */
  async reserve(verified: Verified, sale: Sale, terms: ReservationTerms): Promise<Reservation> {
    let stored = await this.store(verified, verified.holdings, sale, terms)
    if (stored.outcome === 'refused' && UNCOVERED.has(stored.reason)) {
      // One of the payer's settlements may have been mined right after the block at which its holdings were read.
      await verified.chain.head.refresh()
      const { chain, authorization, permit } = verified
      stored = await this.store(verified, await readHoldings(chain, authorization, permit), sale, terms)
    }
    if (stored.outcome === 'refused') return stored
    return { ...stored, listing: this.catalogue.note(verified.original.payload, verified.requirements, sale) }
  }

  /** Runs all checks that need no reservation. Throws `NodeFault`. */
  async verify(request: PaymentRequest, minimumValiditySeconds = 0): Promise<Verified | Refused> {
    const { scheme, network } = request.requirements
    const accepted = (await this.signers.accepted()).get(network) ?? NO_SIGNERS
    const offered = scheme === 'exact' ? await this.signers.offered(network) : []
    const read = await readAuthorization(this.chains, { accepted, offered }, request, minimumValiditySeconds)
    if ('outcome' in read) return read
    const { payer, nonce } = read.authorization
    const { isUsed, isRefused } = await this.standings.call('all', { network: read.chain.network, payer, nonce })
    if (isUsed) return refused(USED_BEFORE, payer)
    if (isRefused) return refused(PAYER_REFUSED, payer)
    if (read.chain.node.isBusy) throw new NodeBusy()
    const [verdict, canSettle] = await Promise.all([
      verifyOnChain(read, accepted),
      this.funds.canSettle(read.chain, read.authorization.facilitator),
    ])
    if ('outcome' in verdict) return verdict
    const { settlementGas } = verdict
    return canSettle ? { ...read, holdings: verdict, settlementGas } : refused(SIGNER_OUT_OF_GAS, payer)
  }

  /** Builds the reservation, and a function that maps its outcome to a refusal; `null`: it is, or could be, reserved. */
  private async prepare(
    { chain, authorization, permit, settlementGas: { gas: settlementGas, excess } }: Verified,
    holdings: Holdings,
    sale: Sale,
    { id = newPaymentId(), call = null, identifier = null }: ReservationTerms,
  ) {
    const { token: asset, ...signed } = authorization
    const { maximum, deadline } = signed
    const sponsored = holdings.isSponsored ? permit : null
    const { maxFeePerGas } = await chain.fees()
    const now = new Date()
    const payment = {
      ...NOTHING_YET,
      ...signed,
      ...sale,
      id,
      identifier,
      network: chain.network,
      asset,
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
    const key = call === null ? null : { ...call, paymentId: id, createdAt: now }
    const wanted = { payment, event, key, holdings, sponsoring: sponsoringOf(chain, asset, holdings, maxFeePerGas) }
    const refusalOf = ({ outcome, reserved }: Place): Refusal | null => {
      if (outcome === 'reserved') return null
      if (outcome === 'used') return USED_BEFORE
      if (outcome === 'named') return IDENTIFIER_TAKEN
      if (outcome === 'uncovered') return describeShortfall(maximum, reserved, holdings)
      return holdings.isSponsored ? SPONSORING_SPENT : CODE_TOO_COSTLY
    }
    return { wanted, refusalOf }
  }

  private async store(verified: Verified, holdings: Holdings, sale: Sale, terms: ReservationTerms): Promise<Stored> {
    const { wanted, refusalOf } = await this.prepare(verified, holdings, sale, terms)
    const { network, asset, payer, facilitator, settlementGas } = wanted.payment
    const { extend = null } = terms
    const storedAs = (place: Place): Stored =>
      place.sequence === null
        ? refused(refusalOf(place) ?? USED_BEFORE, payer)
        : { outcome: 'reserved', payment: { ...wanted.payment, sequence: place.sequence } }
    const extended = async (tx: Transaction, act: Extend) => {
      const [place] = await reservePayments(tx, [wanted])
      const stored = storedAs(place!)
      return stored.outcome === 'reserved' ? { ...stored, payment: await act(tx, stored.payment) } : stored
    }
    let stored: Stored
    try {
      stored =
        extend === null
          ? storedAs(await this.reservations.call(`${network}/${asset}/${payer}`, wanted))
          : await this.ledger.db.transaction((tx) => extended(tx, extend))
    } catch (error) {
      // The key's first result is the answer, see `answerRefused`.
      if (isKeyTaken(error)) return refused(USED_BEFORE, payer)
      throw error
    }
    if (stored.outcome === 'refused') return stored
    for (const state of new Set(['authorized', stored.payment.state])) this.metrics.transitions.inc({ state })
    this.funds.promised(verified.chain, facilitator, settlementGas)
    return stored
  }

  /**
   * Returns the key's first result if another call has taken the key. A refusal that may not repeat at another time is stored as the key's
   * result. Others repeat anyway and are not stored, so invalid calls leave no rows.
   */
  private async answerRefused(call: KeyedCall, refusal: Refused): Promise<AuthorizeResult> {
    const { db } = this.ledger
    const { outcome: _, ...kept } = refusal
    const first = PASSING.has(refusal.reason)
      ? await keepResult(db, call, { paymentId: null, refusal: kept })
      : await findFirstResult(db, call)
    if (first === null) return refusal
    if (first.refusal !== null) return { outcome: 'refused', ...first.refusal }
    const payment = await findPaymentById(db, first.paymentId ?? '')
    if (payment === null) throw new Error('an idempotency key points to no payment')
    return { outcome: 'authorized', payment: toPayment(payment) }
  }
}

export function newPaymentId(): string {
  return `pay_${randomUUID()}`
}

/** Wei sponsored per payer in 24 hours: the chain's `dailySponsoredGas` and, without a permit, the free gas for wallet code. */
function sponsoringOf(chain: Chain, asset: Address, { isSponsored }: Holdings, maxFeePerGas: bigint): Sponsoring {
  const { dailySponsoredGas, weiPerToken, tokens } = chain
  const most = (dailySponsoredGas ?? 0n) + (isSponsored ? 0n : UNPAID_CODE_GAS * maxFeePerGas)
  return { most, weiPerToken, decimals: tokens.get(asset)?.decimals ?? 0 }
}
