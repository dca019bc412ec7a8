import { createHash } from 'node:crypto'
import { Inject, Injectable } from '@nestjs/common'
import type { JsonObject, Requirements } from '@upfront/protocol'
import { errorText, LOGGER, type Logger } from '@upfront/service'
import { and, count, desc, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { Ledger } from '../ledger/ledger.js'
import { type ResourceRow, discoveredResources as resources, sellerAccounts } from '../ledger/schema.js'
import { type Resource, ResourceRefused, readResource } from './read-resource.js'
import { MAX_PAGE, type ResourcePage } from './resource-page.js'

/** Per seller. */
const MAX_RESOURCES = 200
const MAX_OFFERS = 16
/** A listing written less than this long ago is not written again. */
const FRESH_MS = 600_000
const MAX_FRESH = 10_000
const TAKEN = 'another seller has listed it'
/** The reason is sent in a header. */
const MAX_REASON_CHARACTERS = 256

/** The seller: an account or, through the internal API, a named route. */
export interface Sale {
  /** Id of the seller's account. */
  seller: string | null
  route: string | null
}

/** Whether a resource was listed, in the words of x402's `bazaar` extension. */
export type Listing = { status: 'success' } | { status: 'rejected'; rejectedReason: string }

/** The resources that sellers offer (x402's Bazaar). Written when a payment is reserved; readable by anyone. */
@Injectable()
export class Catalogue {
  /** Recent listings, by a digest of their content. */
  private readonly noted = new Map<string, { at: number; listing: Promise<Listing | null> }>()

  constructor(
    private readonly ledger: Ledger,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Lists the resource of a payment. `null` if the payment describes none or has no accountable seller. Never fails: payments do not depend
   * on it.
   */
  async note(paymentPayload: unknown, offer: Requirements, sale: Sale): Promise<Listing | null> {
    // Without an account or a route, nobody is accountable for what the buyer echoed.
    if (sale.seller === null && sale.route === null) return null
    let resource: Resource | null
    try {
      resource = readResource(paymentPayload, offer)
    } catch (error) {
      return this.refused(error, sale)
    }
    return resource === null ? null : this.noteOnce(resource, sale)
  }

  async list({ limit: asked, offset, ...filter }: ResourcePage): Promise<JsonObject> {
    const limit = Math.min(asked, MAX_PAGE)
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

  private noteOnce(resource: Resource, sale: Sale): Promise<Listing | null> {
    const key = createHash('sha256')
      .update(JSON.stringify([sale.seller, resource]))
      .digest('base64')
    const now = Date.now()
    const known = this.noted.get(key)
    if (known !== undefined && now - known.at < FRESH_MS) return known.listing
    if (this.noted.size >= MAX_FRESH) this.noted.clear()
    const listing = this.write(resource, sale.seller).then(
      () => ({ status: 'success' }) as const,
      (error) => {
        if (!(error instanceof ResourceRefused)) this.noted.delete(key)
        return this.refused(error, sale)
      },
    )
    this.noted.set(key, { at: now, listing })
    return listing
  }

  private refused(error: unknown, { seller }: Sale): Listing | null {
    if (!(error instanceof ResourceRefused)) {
      this.logger.warn({ error: errorText(error) }, 'a resource was not listed')
      return null
    }
    this.logger.info({ seller, reason: error.message }, 'a resource was refused')
    return { status: 'rejected', rejectedReason: error.message.slice(0, MAX_REASON_CHARACTERS) }
  }

  /** An account's resources must be at its registered origins: a payer could name any other. @throws ResourceRefused */
  private async demandOwnOrigin({ resource }: Resource, seller: string): Promise<void> {
    const [account] = await this.ledger.db.select().from(sellerAccounts).where(eq(sellerAccounts.id, seller))
    if (account?.origins.includes(new URL(resource).origin) !== true)
      throw new ResourceRefused('resource.url: is not at an origin registered for this account')
  }

  private async write(resource: Resource, seller: string | null): Promise<void> {
    if (seller !== null) await this.demandOwnOrigin(resource, seller)
    const { resource: url, operation } = resource
    const isIt = and(eq(resources.resource, url), eq(resources.operation, operation))
    const ofSeller = seller === null ? isNull(resources.seller) : eq(resources.seller, seller)
    await this.ledger.db.transaction(async (tx) => {
      const [known] = await tx.select().from(resources).where(isIt).for('update')
      if (known !== undefined && known.seller !== seller) throw new ResourceRefused(TAKEN)
      const [owned] = await tx.select({ total: count() }).from(resources).where(ofSeller)
      if (known === undefined && (owned?.total ?? 0) >= MAX_RESOURCES)
        throw new ResourceRefused(`its seller has ${MAX_RESOURCES} resources`)
      const row = { ...resource, accepts: merge(known?.accepts ?? [], resource.accepts), seller, updatedAt: new Date() }
      const written = await tx
        .insert(resources)
        .values(row)
        .onConflictDoUpdate({ target: [resources.resource, resources.operation], set: row, setWhere: ofSeller })
        .returning({ resource: resources.resource })
      // Two sellers may list the same resource concurrently; then neither has seen the other's row.
      if (written.length === 0) throw new ResourceRefused(TAKEN)
    })
  }
}

/** The latest accepted offers, one of each kind. */
function merge(known: readonly Record<string, unknown>[], newer: readonly Record<string, unknown>[]) {
  const others = known.filter((offer) => !newer.some((one) => kindOf(one) === kindOf(offer)))
  return [...newer, ...others].slice(0, MAX_OFFERS)
}

function kindOf({ scheme, network, asset, payTo, extra }: Record<string, unknown>): string {
  return JSON.stringify([scheme, network, asset, payTo, (extra as JsonObject | undefined)?.assetTransferMethod])
}

/** The filter of a page. Resources of retired accounts are excluded. */
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
