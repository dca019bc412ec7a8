import type { Address, AuthorizationKind, Hash, Hex, Network, PaymentState } from '@upfront/protocol'
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  text,
  timestamp,
  unique,
} from 'drizzle-orm/pg-core'

const uint256 = (name: string) => numeric(name, { precision: 78, scale: 0, mode: 'bigint' })
const time = (name: string) => timestamp(name, { withTimezone: true, precision: 3 })

/** Sellers that use billing as their x402 facilitator, each with its own limits. */
export const sellerAccounts = pgTable('seller_accounts', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  /** Hex SHA-256 of the token. The token itself is shown only once. */
  tokenHash: text('token_hash').notNull().unique(),
  /** Lower-case addresses that the account may be paid at. */
  recipients: jsonb('recipients').$type<Address[]>().notNull(),
  /** Origins of its listed resources, such as `https://api.example.com`. Empty: nothing is listed. */
  origins: jsonb('origins').$type<string[]>().notNull().default([]),
  /** Smallest charge that is settled, except 0. Smallest unit of the token. */
  minimum: uint256('minimum').notNull(),
  /** Calls with its token per minute and process. */
  perMinute: integer('per_minute').notNull(),
  /** Wei that its settlements may cost in 24 hours per network; `null`: unlimited. */
  dailyGas: uint256('daily_gas'),
  createdAt: time('created_at').notNull(),
  /** When the token stopped being valid. */
  retiredAt: time('retired_at'),
})
export type SellerAccount = typeof sellerAccounts.$inferSelect

/** One row per authorization, never deleted. Amounts: smallest unit of `asset`; fees: wei; times of the authorization: Unix seconds. */
export const payments = pgTable(
  'payments',
  {
    sequence: bigint('sequence', { mode: 'bigint' }).generatedAlwaysAsIdentity().unique(),
    id: text('id').primaryKey(),
    /** The seller account that requested it; `null` if the service token was used. */
    seller: text('seller').references(() => sellerAccounts.id),
    state: text('state').$type<PaymentState>().notNull(),
    /** What was signed, and for which contract. */
    kind: text('kind').$type<AuthorizationKind>().notNull(),
    network: text('network').$type<Network>().notNull(),
    asset: text('asset').$type<Address>().notNull(),
    payer: text('payer').$type<Address>().notNull(),
    payTo: text('pay_to').$type<Address>().notNull(),
    facilitator: text('facilitator').$type<Address>().notNull(),
    nonce: uint256('nonce').notNull(),
    maximum: uint256('maximum').notNull(),
    validAfter: uint256('valid_after').notNull(),
    deadline: uint256('deadline').notNull(),
    signature: text('signature').$type<Hex>().notNull(),
    /** Deadline of the payer's EIP-2612 permit of the maximum for Permit2; `null` if Permit2 is approved. */
    permitDeadline: uint256('permit_deadline'),
    permitSignature: text('permit_signature').$type<Hex>(),
    /** Upper bound in wei for its permit and the payer's own code, beyond a plain settlement; `null`: none. */
    sponsoredGas: uint256('sponsored_gas'),
    /** Gas limit of its settlement, including its permit. The signer's balance must cover it. */
    settlementGas: bigint('settlement_gas', { mode: 'bigint' }).notNull(),
    /** Of x402's `payment-identifier` extension; `null`: none, or requested through `POST /settle`. */
    identifier: text('identifier'),
    charge: uint256('charge'),
    route: text('route'),
    reason: text('reason'),
    /** Head when it was authorized. Searches for its transfer start here. */
    authorizedBlock: bigint('authorized_block', { mode: 'bigint' }).notNull(),
    transaction: text('transaction').$type<Hash>(),
    blockNumber: bigint('block_number', { mode: 'bigint' }),
    blockHash: text('block_hash').$type<Hash>(),
    gasUsed: uint256('gas_used'),
    feePaid: uint256('fee_paid'),
    createdAt: time('created_at').notNull(),
    chargedAt: time('charged_at'),
    submittedAt: time('submitted_at'),
    finishedAt: time('finished_at'),
    /** The block by which it was found impossible to settle. */
    judgedBlock: bigint('judged_block', { mode: 'bigint' }),
    /** When a reorganisation last undid its settlement, after it was `settled`. */
    takenBackAt: time('taken_back_at'),
    /** The work queue: when a process next looks at it; `null`: never. Database clock, microsecond precision. */
    nextLook: timestamp('next_look', { withTimezone: true }),
    /** Head when its settlement first looked impossible; `null`: it does not. */
    doubtfulFrom: bigint('doubtful_from', { mode: 'bigint' }),
    /** Why it looks impossible at the newest block: an x402 reason. `null` if nothing speaks against it. */
    doubt: text('doubt'),
    /** Whether `POST /settle` granted it: it does once. `null`: not charged by `POST /settle`. */
    settleAnswer: text('settle_answer').$type<'pending' | 'granted'>(),
    updatedAt: time('updated_at').notNull(),
  },
  (table) => [
    unique('payments_authorization_used_once').on(table.network, table.payer, table.nonce),
    index('payments_not_final')
      .on(table.deadline)
      .where(sql`${table.state} in ('authorized', 'charging', 'submitted')`),
    index('payments_open_by_payer')
      .on(table.network, table.payer, table.asset)
      .where(sql`${table.state} in ('authorized', 'charging', 'submitted')`),
    index('payments_settled_by_payer').on(table.network, table.payer, table.asset, table.blockNumber),
    index('payments_mined_by_block')
      .on(table.network, table.blockNumber)
      .where(sql`${table.state} in ('submitted', 'settled')`),
    index('payments_to_submit')
      .on(table.network, table.facilitator, table.deadline, table.nextLook)
      .where(sql`${table.state} = 'charging'`),
    index('payments_submitted')
      .on(table.network, table.facilitator, table.nextLook)
      .where(sql`${table.state} = 'submitted'`),
    index('payments_sponsored')
      .on(table.network, table.payer, table.asset, table.createdAt)
      .where(sql`${table.sponsoredGas} is not null`),
    index('payments_by_identifier')
      .on(table.network, table.payer, table.asset, table.identifier)
      .where(sql`${table.identifier} is not null`),
    index('payments_by_route').on(table.route, table.createdAt),
    index('payments_by_seller').on(table.seller, table.createdAt).where(sql`${table.seller} is not null`),
  ],
)

/** Append-only (by trigger). Written in the transaction that changes the payment. */
export const paymentEvents = pgTable(
  'payment_events',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    paymentId: text('payment_id')
      .notNull()
      .references(() => payments.id),
    at: time('at').notNull(),
    kind: text('kind').notNull(),
    fromState: text('from_state').$type<PaymentState>(),
    toState: text('to_state').$type<PaymentState>().notNull(),
    reason: text('reason'),
    data: jsonb('data').$type<Record<string, string | number | null>>().notNull(),
  },
  (table) => [index('payment_events_by_payment').on(table.paymentId, table.id)],
)

/** - `open`: may still be mined. `mined`: has a receipt. `displaced`: another transaction used its nonce. */
export type TransactionStatus = 'open' | 'mined' | 'displaced'

/** All transactions ever signed, stored before broadcast. {@link settlementItems} lists the payments that they settle. */
export const signedTransactions = pgTable(
  'signed_transactions',
  {
    hash: text('hash').$type<Hash>().primaryKey(),
    network: text('network').$type<Network>().notNull(),
    signer: text('signer').$type<Address>().notNull(),
    nonce: bigint('nonce', { mode: 'number' }).notNull(),
    raw: text('raw').$type<Hex>().notNull(),
    gas: bigint('gas', { mode: 'bigint' }).notNull(),
    maxFeePerGas: uint256('max_fee_per_gas').notNull(),
    maxPriorityFeePerGas: uint256('max_priority_fee_per_gas').notNull(),
    status: text('status').$type<TransactionStatus>().notNull(),
    signedAt: time('signed_at').notNull(),
  },
  (table) => [
    index('signed_transactions_open').on(table.network, table.signer, table.nonce).where(sql`${table.status} = 'open'`),
    index('signed_transactions_by_time').on(table.network, table.signer, table.signedAt),
  ],
)

/**
 * Append-only: the payments that a transaction settles. With one item it calls the payment's proxy or token; with several it is a batch,
 * and `item` is the index in it. A transaction without items fills a nonce or delegates its signer's account.
 */
export const settlementItems = pgTable(
  'settlement_items',
  {
    hash: text('hash')
      .$type<Hash>()
      .notNull()
      .references(() => signedTransactions.hash),
    item: integer('item').notNull(),
    paymentId: text('payment_id')
      .notNull()
      .references(() => payments.id),
  },
  (table) => [
    primaryKey({ columns: [table.hash, table.item] }),
    index('settlement_items_by_payment').on(table.paymentId),
  ],
)

/** Nonces of a signer on one network. The row lock is the lease: its holder assigns the next nonce and signs with it. */
export const signers = pgTable(
  'signers',
  {
    network: text('network').$type<Network>().notNull(),
    address: text('address').$type<Address>().notNull(),
    nextNonce: bigint('next_nonce', { mode: 'number' }).notNull(),
    /** Last heartbeat of a process that has its key. */
    seenAt: time('seen_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.network, table.address] })],
)

export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    key: text('key').primaryKey(),
    operation: text('operation').notNull(),
    /** SHA-256 of the operation's input. */
    inputHash: text('input_hash').notNull(),
    /** Not a foreign key: the key is taken before the payment is written. */
    paymentId: text('payment_id'),
    refusal: jsonb('refusal').$type<{ reason: string; message: string; payer: Address | null }>(),
    createdAt: time('created_at').notNull(),
  },
  (table) => [index('idempotency_keys_by_age').on(table.createdAt)],
)

/**
 * Append-only, from receipts: every transfer of a payment's settlement, also one of a wrong amount. `entry` numbers the records of one log
 * in one block: odd entries record it; even ones, with the amount negated, reverse it after a reorganisation.
 */
export const transfers = pgTable(
  'transfers',
  {
    network: text('network').$type<Network>().notNull(),
    transaction: text('transaction').$type<Hash>().notNull(),
    /** -1: recorded before log indices were stored. */
    logIndex: integer('log_index').notNull(),
    blockNumber: bigint('block_number', { mode: 'bigint' }).notNull(),
    blockHash: text('block_hash').$type<Hash>().notNull(),
    entry: integer('entry').notNull(),
    asset: text('asset').$type<Address>().notNull(),
    payer: text('payer').$type<Address>().notNull(),
    payTo: text('pay_to').$type<Address>().notNull(),
    amount: uint256('amount').notNull(),
    paymentId: text('payment_id')
      .notNull()
      .references(() => payments.id),
    recordedAt: time('recorded_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.network, table.transaction, table.logIndex, table.blockHash, table.entry] }),
    index('transfers_by_payment').on(table.paymentId),
    index('transfers_by_block').on(table.network, table.blockNumber),
  ],
)

/** Append-only, from receipts: the cost of each mined transaction of a signer. `entry` as in {@link transfers}. Wei. */
export const gas = pgTable(
  'gas',
  {
    network: text('network').$type<Network>().notNull(),
    transaction: text('transaction').$type<Hash>().notNull(),
    blockNumber: bigint('block_number', { mode: 'bigint' }).notNull(),
    blockHash: text('block_hash').$type<Hash>().notNull(),
    /** Index of the batch item; 0 if the transaction is no batch. */
    item: integer('item').notNull().default(0),
    entry: integer('entry').notNull(),
    signer: text('signer').$type<Address>().notNull(),
    gasUsed: uint256('gas_used').notNull(),
    /** Includes an OP-stack chain's L1 fee. */
    fee: uint256('fee').notNull(),
    succeeded: boolean('succeeded').notNull(),
    /** `null`: it settled nothing. */
    paymentId: text('payment_id').references(() => payments.id),
    recordedAt: time('recorded_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.network, table.transaction, table.blockHash, table.item, table.entry] }),
    index('gas_by_payment').on(table.paymentId),
    index('gas_by_signer').on(table.network, table.signer, table.recordedAt),
  ],
)

/** Append-only, written only by triggers. Per network and asset, the amounts of all accounts sum to zero. */
export const postings = pgTable(
  'postings',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    at: time('at').notNull(),
    paymentId: text('payment_id').references(() => payments.id),
    network: text('network').$type<Network>().notNull(),
    /** A token, or `native`. */
    asset: text('asset').$type<Address | 'native'>().notNull(),
    /** `promised`, `reserved`, `receivable`, `received`, `written off`; for `native`: `signer <address>`, `gas`. */
    account: text('account').notNull(),
    amount: uint256('amount').notNull(),
  },
  (table) => [index('postings_by_account').on(table.network, table.asset, table.account)],
)

/** The last reconciled block of each chain. */
export const reconciledBlocks = pgTable('reconciled_blocks', {
  network: text('network').$type<Network>().primaryKey(),
  blockNumber: bigint('block_number', { mode: 'bigint' }).notNull(),
  updatedAt: time('updated_at').notNull(),
})

/**
 * Payers that cost a seller work or a signer gas. Nothing is authorized for them until `refusedUntil`. A contract that made a settlement
 * revert on chain is refused permanently, and nothing more is signed for it.
 */
export const refusedPayers = pgTable(
  'refused_payers',
  {
    network: text('network').$type<Network>().notNull(),
    payer: text('payer').$type<Address>().notNull(),
    /** Number of payments that could not be collected, and gas of their transactions. */
    payments: integer('payments').notNull(),
    gasUsed: uint256('gas_used').notNull(),
    refusedAt: time('refused_at').notNull(),
    /** `null`: permanently, until an operator deletes the row. */
    refusedUntil: time('refused_until'),
  },
  (table) => [primaryKey({ columns: [table.network, table.payer] })],
)

/** The resources listed by `GET /discovery/resources`, written when payments for them are reserved. */
export const discoveredResources = pgTable(
  'discovered_resources',
  {
    /** URL without query or, for a path with parameters, its template. */
    resource: text('resource').notNull(),
    /** HTTP method, or name of the MCP tool. */
    operation: text('operation').notNull(),
    /** `null`: sold through the internal API. */
    seller: text('seller').references(() => sellerAccounts.id),
    type: text('type').$type<'http' | 'mcp'>().notNull(),
    /** Description, media type and the service's own metadata. */
    about: jsonb('about').$type<Record<string, unknown>>().notNull(),
    accepts: jsonb('accepts').$type<Record<string, unknown>[]>().notNull(),
    /** x402's `bazaar` extension. */
    bazaar: jsonb('bazaar').$type<Record<string, unknown>>().notNull(),
    updatedAt: time('updated_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.resource, table.operation] }),
    index('discovered_resources_by_seller').on(table.seller),
  ],
)

/** Sellers' answers that wait for their payment, so that any process of the seller can deliver them. Stored as sent by the client. */
export const withheldAnswers = pgTable(
  'withheld_answers',
  {
    paymentId: text('payment_id')
      .primaryKey()
      .references(() => payments.id),
    answer: text('answer').notNull(),
    keptUntil: time('kept_until').notNull(),
  },
  (table) => [index('withheld_answers_by_end').on(table.keptUntil)],
)

export type PaymentRow = typeof payments.$inferSelect
export type NewPaymentRow = typeof payments.$inferInsert
export type ResourceRow = typeof discoveredResources.$inferSelect
export type SignedTransactionRow = typeof signedTransactions.$inferSelect
