import { Readable } from 'node:stream'
import { Controller, Get, Param, Query, StreamableFile, UseGuards } from '@nestjs/common'
import type { JsonObject } from '@upfront/protocol'
import { Chains } from '../chain/chains.js'
import { findPaymentById } from '../ledger/find-payment.js'
import { Ledger } from '../ledger/ledger.js'
import type { SellerAccount } from '../ledger/schema.js'
import { BillingError, noSuchPayment } from '../payments/billing-error.js'
import { describePayment, exportCsv, listPayments } from '../seller/list.js'
import { PaymentFilter, PaymentPage } from '../seller/payment-filter.js'
import { reconcile } from '../seller/reconcile.js'
import { sumAccounts, totalPayments } from '../seller/totals.js'
import { Settler } from '../settle/settler.js'
import { CallingSeller, OpenToReadToken, OpenToSellers, ServiceTokenGuard } from './service-token.guard.js'
import { strictly } from './strictly.js'

/** The seller's view of the ledger. All paths take the filters of {@link PaymentFilter}. */
@Controller()
@UseGuards(ServiceTokenGuard)
@OpenToReadToken()
@OpenToSellers()
export class SellerController {
  constructor(
    private readonly ledger: Ledger,
    private readonly chains: Chains,
    private readonly settler: Settler,
  ) {}

  @Get('payments')
  async list(@Query(strictly) page: PaymentPage, @CallingSeller() seller: SellerAccount | null): Promise<JsonObject> {
    return listPayments(this.ledger.db, ownBy(page, seller))
  }

  @Get('payments.csv')
  csv(@Query(strictly) filter: PaymentFilter, @CallingSeller() seller: SellerAccount | null): StreamableFile {
    const disposition = 'attachment; filename="payments.csv"'
    return new StreamableFile(Readable.from(exportCsv(this.ledger.db, ownBy(filter, seller))), {
      type: 'text/csv; charset=utf-8',
      disposition,
    })
  }

  @Get('payments/totals')
  async totals(
    @Query(strictly) filter: PaymentFilter,
    @CallingSeller() seller: SellerAccount | null,
  ): Promise<JsonObject> {
    return totalPayments(this.ledger.db, ownBy(filter, seller))
  }

  @Get('accounts')
  async accounts(@CallingSeller() seller: SellerAccount | null): Promise<JsonObject> {
    refuseSeller(seller)
    return sumAccounts(this.ledger.db)
  }

  @Get('payments/:id')
  async payment(@Param('id') id: string, @CallingSeller() seller: SellerAccount | null): Promise<JsonObject> {
    const payment = await findPaymentById(this.ledger.db, id)
    if (payment === null || (seller !== null && payment.seller !== seller.id)) throw noSuchPayment()
    return { ...(await describePayment(this.ledger.db, payment)), waitsFor: this.settler.waitOf(payment) }
  }

  @Get('reconciliation')
  async reconciliation(
    @Query(strictly) filter: PaymentFilter,
    @CallingSeller() seller: SellerAccount | null,
  ): Promise<JsonObject> {
    refuseSeller(seller)
    return reconcile(this.ledger.db, this.chains, filter)
  }
}

/** Restricts the filter to the seller's own payments. */
function ownBy<T extends PaymentFilter>(filter: T, seller: SellerAccount | null): T {
  return seller === null ? filter : Object.assign(filter, { seller: seller.id })
}

/** For data about the payments of all sellers. */
function refuseSeller(seller: SellerAccount | null): void {
  if (seller !== null) throw new BillingError('forbidden', 'a seller account’s token does not allow this')
}
