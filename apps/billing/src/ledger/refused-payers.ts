import { type Address, type Network, RefusalReason } from '@upfront/protocol'
import { type SQL, sql } from 'drizzle-orm'
import type { Database } from './ledger.js'
import { refusedPayers } from './schema.js'

/** What is known of an authorization and its payer before the chain is asked. */
export interface PayerStanding {
  /** The authorization became a payment. */
  isUsed: boolean
  /**
   * Nothing may be authorized for this payer: a payment of it could not be collected not long ago, or one that is open looks as if it could
   * not be. An operator who knows better deletes the row of `refused_payers`.
   */
  isRefused: boolean
}

/** In the order of the authorizations, all in one statement. */
export async function readStandings(
  db: Database,
  authorizations: readonly { network: Network; payer: Address; nonce: bigint }[],
): Promise<PayerStanding[]> {
  const asked = authorizations.map(({ network, payer, nonce }) => ({ network, payer, nonce: nonce.toString() }))
  const of = sql`network = asked.network and payer = asked.payer`
  // That one is late is no more the payer's doing than where it ends so.
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

/** That a payer's contract burns gas: nothing more is signed for it. Of a query on `payments`. */
export const isOfRefusedContract: SQL = sql`exists (select from refused_payers as refused
  where refused.network = payments.network and refused.payer = payments.payer and refused.refused_until is null)`

/**
 * For `along`: refuses the payer of the changed payment, which could not be collected: an hour the first time, twice as long each
 * further time. `gasUsed`: what its transactions used. `forGood`: its contract burns gas.
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

/** For `along`: the changed payment was collected after all. */
export function pardonPayer(): SQL {
  return sql`delete from ${refusedPayers} using changed where ${refusedPayers}.network = changed.network
    and ${refusedPayers}.payer = changed.payer and ${refusedPayers}.refused_until is not null`
}
