import { Controller, Get } from '@nestjs/common'
import { priceListHash } from '@upfront/nestjs-x402'
import { type PriceList, RECEIPT_DOMAIN, RECEIPT_TYPES } from '@upfront/receipt'
import { Environment } from '../environment/environment.js'
import { paidLimits } from '../simulate/simulation-context.js'
import { type PublicReceiptKey, ReceiptIssuer } from './receipt-issuer.js'

/** What buyers need to check this seller's receipts, besides the receipts. */
export interface SellerDocument {
  receiptKeys: PublicReceiptKey[]
  /** EIP-712: the domain's `chainId` is that of the receipt's network. */
  receipt: { domain: typeof RECEIPT_DOMAIN; types: typeof RECEIPT_TYPES; primaryType: 'Receipt' }
  priceList: PriceList
  priceListHash: string
  /** The most that one call, and all of a request together, may take, decimal: calls that name no gas have it. */
  gasCap: string
  /** Seconds between simulated blocks that name no time, where it is not the chain's. */
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
