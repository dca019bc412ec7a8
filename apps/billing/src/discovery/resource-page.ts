import { type Address, type Network, SCHEMES, type Scheme } from '@upfront/protocol'
import { Transform } from 'class-transformer'
import { IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator'
import { IsAddressOf, IsNetwork } from '../seller/payment-filter.js'

const Whole = () =>
  Transform(({ value }) => (typeof value === 'string' && /^[0-9]{1,9}$/.test(value) ? Number(value) : value))

/** Resources per answer. */
export const MAX_PAGE = 100

/** The query of `GET /discovery/resources`: x402's filters and paging. */
export class ResourcePage {
  @IsOptional()
  @IsIn(['http', 'mcp'], { message: 'type: must be http or mcp' })
  type?: 'http' | 'mcp'

  @IsAddressOf('payTo')
  payTo?: Address

  @IsOptional()
  @IsIn(SCHEMES, { message: `scheme: must be one of ${SCHEMES.join(', ')}` })
  scheme?: Scheme

  @IsNetwork()
  network?: Network

  /** Name of an extension that the resource has. */
  @IsOptional()
  @Matches(/^[a-zA-Z0-9-]{1,64}$/, { message: 'extensions: must be the name of an extension' })
  extensions?: string

  /** A larger limit is capped, not refused: x402's own test suite asks for more. */
  @Whole()
  @IsInt({ message: 'limit: must be a whole number' })
  @Min(1, { message: 'limit: must be at least 1' })
  limit = 20

  @Whole()
  @IsInt({ message: 'offset: must be a whole number' })
  @Min(0, { message: 'offset: must be at least 0' })
  @Max(1_000_000, { message: 'offset: must be at most 1000000' })
  offset = 0
}
