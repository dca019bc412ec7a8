import { type Address, type Network, RefusalReason } from '@upfront/protocol'
import { type SQL, sql } from 'drizzle-orm'
import type { Database } from './ledger.js'
import { refusedPayers } from './schema.js'

/** Facts about an authorization and its payer that need no chain access. */
export interface PayerStanding {
  /** The authorization was already used for a payment. */
  isUsed: boolean
  /**
   * No authorization of this payer is accepted: a recent payment could not be collected, or an open one is doubtful. An operator can lift
   * this by deleting the row of `refused_payers`.
   */
  isRefused: boolean
}

/** Reads all in one statement. Results are in the order of `authorizations`. */
export async function readStandings(
  db: Database,
  authorizations: readonly { network: Network; payer: Address; nonce: bigint }[],
): Promise<PayerStanding[]> {
  const asked = authorizations.map(({ network, payer, nonce }) => ({ network, payer, nonce: nonce.toString() }))
  const of = sql`network = asked.network and payer = asked.payer`
  // A late payment is not held against the payer, neither while open nor after it failed.
  const isRefused = sql<boolean>`exists (select from refused_payers where ${of} and coalesce(refused_until > now(), true))
    or exists (select from payments where ${of} and state in ('charging', 'submitted') and doubt <> ${RefusalReason.deadlineExpired})`
  const isUsed = sql<boolean>`exists (select from payments where ${of} and nonce = asked.nonce)`
  return db
    .select({ isUsed, isRefused })
    .from(
      sql`rows from (jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) as (network text, payer text, nonce numeric))
        with ordinality as asked(network, payer, nonce, place)`,
    )
    .orderBy(sql`place`)
}

/** Condition on `payments`: the payer's contract burns gas, so nothing more is signed for it. */
export const isOfRefusedContract: SQL = sql`exists (select from refused_payers as refused
  where refused.network = payments.network and refused.payer = payments.payer and refused.refused_until is null)`

/**
 * For `along`: refuses the payer of the changed payment, which could not be collected, for an hour. The period doubles with each further
 * time, up to 1,024 hours. `gasUsed`: gas of the payment's transactions. `forGood`: the payer's contract burns gas, so it never ends.
 */
export function refusePayer(gasUsed: bigint, forGood: boolean): SQL {
  const until = forGood ? sql`null::timestamptz` : sql`now() + interval '1 hour'`
  const again = sql`case when ${forGood}::boolean or ${refusedPayers}.refused_until is null then null
    else now() + interval '1 hour' * power(2, least(${refusedPayers}.payments, 10)) end`
  return sql`insert into ${refusedPayers} (network, payer, payments, gas_used, refused_at, refused_until)
    select network, payer, 1, ${gasUsed.toString()}::numeric, now(), ${until} from changed
    on conflict (network, payer) do update set payments = ${refusedPayers}.payments + 1,
      gas_used = ${refusedPayers}.gas_used + excluded.gas_used, refused_at = now(), refused_until = ${again}`
}

/** For `along`: lifts the payer's refusal, unless it is permanent, because the changed payment was collected after all. */
export function pardonPayer(): SQL {
  return sql`delete from ${refusedPayers} using changed where ${refusedPayers}.network = changed.network
    and ${refusedPayers}.payer = changed.payer and ${refusedPayers}.refused_until is not null`
}
