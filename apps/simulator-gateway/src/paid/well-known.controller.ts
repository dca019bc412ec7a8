import { Controller, Get } from '@nestjs/common'
import { priceListHash } from '@upfront/nestjs-x402'
import { type PriceList, RECEIPT_DOMAIN, RECEIPT_TYPES } from '@upfront/receipt'
import { Environment } from '../environment/environment.js'
import { paidLimits } from '../simulate/simulation-context.js'
import { type PublicReceiptKey, ReceiptIssuer } from './receipt-issuer.js'

/** The data that buyers need to check this seller's receipts. */
export interface SellerDocument {
  receiptKeys: PublicReceiptKey[]
  /** EIP-712; the domain's `chainId` is that of the receipt's network. */
  receipt: { domain: typeof RECEIPT_DOMAIN; types: typeof RECEIPT_TYPES; primaryType: 'Receipt' }
  priceList: PriceList
  priceListHash: string
  /** Gas limit of one simulation, all its calls together, decimal; also the gas of calls that set none. */
  gasCap: string
  /** Seconds between simulated blocks without a `time`; absent if the chain's own is used. */
  blockTime?: string
}

/** `GET /.well-known/upfront.json`. */
@Controller('.well-known/upfront.json')
export class WellKnownController {
  constructor(
    private readonly issuer: ReceiptIssuer,
    private readonly environment: Environment,
  ) {}

  @Get()
  document(): SellerDocument {
    const { PRICE_LIST: priceList, BLOCK_TIME_SECONDS } = this.environment
    return {
      receiptKeys: this.issuer.keys,
      receipt: { domain: RECEIPT_DOMAIN, types: RECEIPT_TYPES, primaryType: 'Receipt' },
      priceList,
      priceListHash: priceListHash({ ...priceList }),
      gasCap: paidLimits(this.environment).gas.toString(),
      ...(BLOCK_TIME_SECONDS !== undefined && { blockTime: BLOCK_TIME_SECONDS.toString() }),
    }
  }
}
