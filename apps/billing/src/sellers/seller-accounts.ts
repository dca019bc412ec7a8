import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Address } from '@upfront/protocol'
import { and, asc, eq, isNull } from 'drizzle-orm'
import type { Database } from '../ledger/ledger.js'
import { type SellerAccount, sellerAccounts } from '../ledger/schema.js'

/** Terms of a seller's account. Amounts in the token's smallest unit, gas in wei. */
export type SellerTerms = Pick<SellerAccount, 'name' | 'recipients' | 'minimum' | 'perMinute' | 'dailyGas'> &
  Partial<Pick<SellerAccount, 'origins'>>

/** Creates an account and returns it with its token, which is not stored: 256 random bits, safe in a URL path. */
export async function makeSeller(db: Database, terms: SellerTerms): Promise<{ account: SellerAccount; token: string }> {
  const token = randomBytes(32).toString('base64url')
  const recipients = terms.recipients.map((recipient) => recipient.toLowerCase() as Address)
  const [account] = await db
    .insert(sellerAccounts)
    .values({ ...terms, recipients, id: `seller_${randomUUID()}`, tokenHash: hashToken(token), createdAt: new Date() })
    .returning()
  if (account === undefined) throw new Error('the account was not stored')
  return { account, token }
}

/** Invalidates the account's token; its payments stay. Returns `false` if there is no such account or it is already retired. */
export async function retireSeller(db: Database, id: string): Promise<boolean> {
  const isIt = and(eq(sellerAccounts.id, id), isNull(sellerAccounts.retiredAt))
  const retired = await db.update(sellerAccounts).set({ retiredAt: new Date() }).where(isIt).returning()
  return retired.length === 1
}

export function listSellers(db: Database): Promise<SellerAccount[]> {
  return db.select().from(sellerAccounts).orderBy(asc(sellerAccounts.createdAt))
}

/** The account of this token; `null` if there is none or it is retired. */
export async function findSeller(db: Database, token: string): Promise<SellerAccount | null> {
  const isIt = and(eq(sellerAccounts.tokenHash, hashToken(token)), isNull(sellerAccounts.retiredAt))
  const [account] = await db.select().from(sellerAccounts).where(isIt)
  return account ?? null
}

function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
