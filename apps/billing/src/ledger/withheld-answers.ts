import { and, count, eq, gt, lt, ne } from 'drizzle-orm'
import type { Database } from './ledger.js'
import { withheldAnswers } from './schema.js'

/** Each has at most 96 KiB. */
const MAX_ANSWERS = 5_000

/** Stores a seller's answer for a payment, replacing an earlier one. Returns `false` if too many others are stored. */
export async function keepAnswer(db: Database, paymentId: string, answer: string, keptUntil: Date): Promise<boolean> {
  await db.delete(withheldAnswers).where(lt(withheldAnswers.keptUntil, new Date()))
  const isOther = ne(withheldAnswers.paymentId, paymentId)
  const [others] = await db.select({ answers: count() }).from(withheldAnswers).where(isOther)
  if ((others?.answers ?? 0) >= MAX_ANSWERS) return false
  await db
    .insert(withheldAnswers)
    .values({ paymentId, answer, keptUntil })
    .onConflictDoUpdate({ target: withheldAnswers.paymentId, set: { answer, keptUntil } })
  return true
}

/** Returns `null` if there is no answer or it has expired. */
export async function findAnswer(db: Database, paymentId: string): Promise<string | null> {
  const isKept = and(eq(withheldAnswers.paymentId, paymentId), gt(withheldAnswers.keptUntil, new Date()))
  const [found] = await db.select({ answer: withheldAnswers.answer }).from(withheldAnswers).where(isKept)
  return found?.answer ?? null
}
