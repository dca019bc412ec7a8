import { createHash } from 'node:crypto'
import { Inject, Injectable } from '@nestjs/common'
import type { JsonObject, Requirements } from '@upfront/protocol'
import { errorText, LOGGER, type Logger } from '@upfront/service'
import { and, count, desc, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { Ledger } from '../ledger/ledger.js'
import {
  type PaymentOrigin,
  type ResourceRow,
  discoveredResources as resources,
  sellerAccounts,
} from '../ledger/schema.js'
import { type Resource, ResourceRefused, readResource } from './read-resource.js'
import type { ResourcePage } from './resource-page.js'

/** One seller's. */
const MOST_RESOURCES = 200
const MOST_OFFERS = 16
/** What was noted lately is not written again. */
const FRESH_MILLISECONDS = 600_000
const MOST_FRESH = 10_000

/** Who sold: a seller's account, or over the internal contract a route that names itself. */
export interface Sale {
  origin: PaymentOrigin
  /** Of the account. */
  seller: string | null
  route: string | null
}

/** What sellers sell (x402's Bazaar): written as payments for it are reserved, and read by anybody. */
@Injectable()
export class Catalogue {
  /** When what was noted last, by what it says. */
  private readonly noted = new Map<string, number>()

  constructor(
    private readonly ledger: Ledger,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Lists what a payment is for, where it says so and its seller is listed. Never fails: a payment does not depend on it. */
  async note(paymentPayload: unknown, offer: Requirements, sale: Sale): Promise<void> {
    // Without an account and without a route nobody vouches for what the buyer repeated.
    if (sale.seller === null && (sale.origin !== 'internal' || sale.route === null)) return
    try {
      const resource = readResource(paymentPayload, offer)
      if (resource === null || this.isFresh(resource, sale)) return
      if (await this.isListed(resource, sale)) await this.write(resource, sale.seller)
    } catch (error) {
      if (!(error instanceof ResourceRefused))
        this.logger.warn({ error: errorText(error) }, 'a resource was not listed')
      else this.logger.info({ seller: sale.seller, reason: error.message }, 'a resource was refused')
    }
  }

  async list({ limit, offset, ...filter }: ResourcePage): Promise<JsonObject> {
    const where = whereOf(filter)
    const listed = this.ledger.db
      .select({ one: resources })
      .from(resources)
      .leftJoin(sellerAccounts, eq(sellerAccounts.id, resources.seller))
      .where(where)
      .orderBy(desc(resources.updatedAt), resources.resource, resources.operation)
      .limit(limit)
      .offset(offset)
    const all = this.ledger.db
      .select({ total: count() })
      .from(resources)
      .leftJoin(sellerAccounts, eq(sellerAccounts.id, resources.seller))
      .where(where)
    const [items, [counted]] = await Promise.all([listed, all])
    const pagination = { limit, offset, total: counted?.total ?? 0 }
    return { x402Version: 2, items: items.map(({ one }) => describe(one)), pagination }
  }

  private isFresh(resource: Resource, { seller }: Sale): boolean {
    const key = createHash('sha256')
      .update(JSON.stringify([seller, resource]))
      .digest('base64')
    const now = Date.now()
    if (now - (this.noted.get(key) ?? 0) < FRESH_MILLISECONDS) return true
    if (this.noted.size >= MOST_FRESH) this.noted.clear()
    this.noted.set(key, now)
    return false
  }

  /** An account's is listed at the origins that it was made for: whoever pays could name any other. */
  private async isListed({ resource }: Resource, { seller }: Sale): Promise<boolean> {
    if (seller === null) return true
    const [account] = await this.ledger.db.select().from(sellerAccounts).where(eq(sellerAccounts.id, seller))
    return account?.origins.includes(new URL(resource).origin) === true
  }

  private async write(resource: Resource, seller: string | null): Promise<void> {
    const { resource: url, operation } = resource
    const isIt = and(eq(resources.resource, url), eq(resources.operation, operation))
    const ofSeller = seller === null ? isNull(resources.seller) : eq(resources.seller, seller)
    await this.ledger.db.transaction(async (tx) => {
      const [known] = await tx.select().from(resources).where(isIt).for('update')
      if (known !== undefined && known.seller !== seller) throw new ResourceRefused('another seller has it')
      const [owned] = await tx.select({ total: count() }).from(resources).where(ofSeller)
      if (known === undefined && (owned?.total ?? 0) >= MOST_RESOURCES)
        throw new ResourceRefused(`its seller has ${MOST_RESOURCES} resources`)
      const row = { ...resource, accepts: merge(known?.accepts ?? [], resource.accepts), seller, updatedAt: new Date() }
      await tx
        .insert(resources)
        .values(row)
        .onConflictDoUpdate({ target: [resources.resource, resources.operation], set: row, setWhere: ofSeller })
    })
  }
}

/** The offers that were last accepted, one of each kind. */
function merge(known: readonly Record<string, unknown>[], newer: readonly Record<string, unknown>[]) {
  const others = known.filter((offer) => !newer.some((one) => kindOf(one) === kindOf(offer)))
  return [...newer, ...others].slice(0, MOST_OFFERS)
}

function kindOf({ scheme, network, asset, payTo, extra }: Record<string, unknown>): string {
  return JSON.stringify([scheme, network, asset, payTo, (extra as JsonObject | undefined)?.assetTransferMethod])
}

/** Those of a retired account are listed no more. */
function whereOf({
  type,
  payTo,
  scheme,
  network,
  extensions,
}: Omit<ResourcePage, 'limit' | 'offset'>): SQL | undefined {
  const offer = { payTo, scheme, network }
  const isOffered = Object.values(offer).some((value) => value !== undefined)
  return and(
    isNull(sellerAccounts.retiredAt),
    type === undefined ? undefined : eq(resources.type, type),
    isOffered ? sql`${resources.accepts} @> ${JSON.stringify([offer])}::jsonb` : undefined,
    extensions === undefined || extensions === 'bazaar' ? undefined : sql`false`,
  )
}

function describe({ resource, type, about, accepts, bazaar, updatedAt }: ResourceRow): JsonObject {
  return {
    resource,
    type,
    x402Version: 2,
    accepts,
    lastUpdated: updatedAt.toISOString(),
    ...about,
    extensions: { bazaar },
  }
}
