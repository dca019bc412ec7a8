import { applyDecorators } from '@nestjs/common'
import { type Address, type Network, PAYMENT_STATES, type PaymentState } from '@upfront/protocol'
import { Transform } from 'class-transformer'
import { IsIn, IsInt, IsOptional, IsString, isISO8601, Matches, Max, MaxLength, Min, MinDate } from 'class-validator'
import { and, eq, gte, inArray, lt, type SQL } from 'drizzle-orm'
import { payments } from '../ledger/schema.js'

/** An address in any case, converted to lower case. */
export const IsAddressOf = (name: string) =>
  applyDecorators(
    IsOptional(),
    Transform(({ value }) => (typeof value === 'string' ? value.toLowerCase() : value)),
    Matches(/^0x[0-9a-f]{40}$/, { message: `${name}: must be an address` }),
  )
export const IsNetwork = () =>
  applyDecorators(
    IsOptional(),
    Matches(/^eip155:[1-9][0-9]{0,15}$/, { message: 'network: must be a CAIP-2 network such as eip155:8453' }),
  )
/** Rejects forms of ISO 8601 that JavaScript can't parse, and years that Postgres can't store. */
const IsTimeOf = (name: string) =>
  applyDecorators(
    IsOptional(),
    Transform(({ value }) => (isISO8601(value, { strict: true }) ? new Date(value) : value)),
    MinDate(new Date(0), { message: `${name}: must be an ISO 8601 date or time from 1970 on` }),
  )

/** The query parameters shared by list, totals, CSV and reconciliation. */
export class PaymentFilter {
  /** One or more, separated by commas. */
  @IsOptional()
  @Transform(({ value }) => (typeof value === 'string' ? value.split(',') : value))
  @IsIn(PAYMENT_STATES, { each: true, message: `state: must be one of ${PAYMENT_STATES.join(', ')}` })
  state?: PaymentState[]

  @IsNetwork()
  network?: Network

  @IsAddressOf('asset')
  asset?: Address

  @IsAddressOf('payer')
  payer?: Address

  /** With `payer`, selects one payment. */
  @IsOptional()
  @Matches(/^(0|[1-9][0-9]{0,77})$/, { message: 'nonce: must be a decimal number' })
  nonce?: string

  @IsAddressOf('payTo')
  payTo?: Address

  @IsOptional()
  @IsString({ message: 'route: must be given once' })
  @MaxLength(512, { message: 'route: must have at most 512 characters' })
  @Matches(/^[^\0]*$/, { message: 'route: must be text' })
  route?: string

  /** Created at or after this time. */
  @IsTimeOf('from')
  from?: Date

  /** Created before this time. */
  @IsTimeOf('to')
  to?: Date
}

/** A filter with paging. */
export class PaymentPage extends PaymentFilter {
  @Transform(({ value }) => (value === undefined ? 50 : Number(value)))
  @IsInt({ message: 'limit: must be an integer' })
  @Min(1, { message: 'limit: must be at least 1' })
  @Max(500, { message: 'limit: must be at most 500' })
  limit = 50

  /** `nextCursor` of the previous page. */
  @IsOptional()
  @Matches(/^[0-9]{1,18}$/, { message: 'cursor: must be the nextCursor of an earlier page' })
  cursor?: string
}

export function whereOf(filter: PaymentFilter & { seller?: string }): SQL | undefined {
  return and(
    filter.seller === undefined ? undefined : eq(payments.seller, filter.seller),
    filter.nonce === undefined ? undefined : eq(payments.nonce, BigInt(filter.nonce)),
    filter.state === undefined ? undefined : inArray(payments.state, filter.state),
    filter.network === undefined ? undefined : eq(payments.network, filter.network),
    filter.asset === undefined ? undefined : eq(payments.asset, filter.asset),
    filter.payer === undefined ? undefined : eq(payments.payer, filter.payer),
    filter.payTo === undefined ? undefined : eq(payments.payTo, filter.payTo),
    filter.route === undefined ? undefined : eq(payments.route, filter.route),
    filter.from === undefined ? undefined : gte(payments.createdAt, filter.from),
    filter.to === undefined ? undefined : lt(payments.createdAt, filter.to),
  )
}
