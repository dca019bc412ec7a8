import { Body, Controller, Get, Headers, HttpCode, Param, Post, Put, Query, UseGuards } from '@nestjs/common'
import {
  decodeAddressField,
  decodeAuthorizeRequest,
  decodeChargeRequest,
  decodeDecimal,
  decodeInteger,
  decodeKeptAnswer,
  decodeNetwork,
  decodeReleaseRequest,
  encodeAuthorizeResult,
  encodeChargeResult,
  encodeFoundAnswer,
  encodePayment,
  IDEMPOTENCY_KEY_HEADER,
  type JsonObject,
  type Token,
} from '@upfront/protocol'
import { Chains } from '../chain/chains.js'
import { toPayment } from '../ledger/change-payment.js'
import { findPayment, findPaymentById } from '../ledger/find-payment.js'
import { Ledger } from '../ledger/ledger.js'
import { findAnswer, keepAnswer } from '../ledger/withheld-answers.js'
import { Authorizations } from '../payments/authorize.js'
import { BillingError, noSuchPayment } from '../payments/billing-error.js'
import { Charges } from '../payments/charge.js'
import { Settler } from '../settle/settler.js'
import { ServiceTokenGuard } from './service-token.guard.js'

/** The internal API, as defined in the `billing` folder of `@upfront/protocol`. */
@Controller('internal')
@UseGuards(ServiceTokenGuard)
export class InternalController {
  constructor(
    private readonly authorizations: Authorizations,
    private readonly charges: Charges,
    private readonly settler: Settler,
    private readonly chains: Chains,
    private readonly ledger: Ledger,
  ) {}

  @Post('payments')
  @HttpCode(200)
  async authorize(@Body() body: unknown, @Headers(IDEMPOTENCY_KEY_HEADER) key: unknown): Promise<JsonObject> {
    return encodeAuthorizeResult(await this.authorizations.authorize(decodeAuthorizeRequest(body), readKey(key)))
  }

  @Post('payments/:id/charge')
  @HttpCode(200)
  async charge(
    @Param('id') id: string,
    @Body() body: unknown,
    @Headers(IDEMPOTENCY_KEY_HEADER) key: unknown,
  ): Promise<JsonObject> {
    return encodeChargeResult(await this.charges.charge(id, decodeChargeRequest(body), readKey(key)))
  }

  @Post('payments/:id/release')
  @HttpCode(200)
  async release(
    @Param('id') id: string,
    @Body() body: unknown,
    @Headers(IDEMPOTENCY_KEY_HEADER) key: unknown,
  ): Promise<JsonObject> {
    return encodeChargeResult(await this.charges.release(id, decodeReleaseRequest(body), readKey(key)))
  }

  @Get('payments/:id')
  async payment(@Param('id') id: string, @Query('waitMilliseconds') wait?: string): Promise<JsonObject> {
    const found = await findPaymentById(this.ledger.db, id)
    if (found === null) throw noSuchPayment()
    const milliseconds = wait === undefined ? 0 : decodeInteger(Number(wait), 'waitMilliseconds', 0, 300_000)
    return { payment: encodePayment(toPayment(await this.settler.waitUntilKnown(found, milliseconds))) }
  }

  @Put('payments/:id/answer')
  async keepAnswer(@Param('id') id: string, @Body() body: unknown): Promise<JsonObject> {
    const { answer, seconds } = decodeKeptAnswer(body)
    if ((await findPaymentById(this.ledger.db, id)) === null) throw noSuchPayment()
    return { kept: await keepAnswer(this.ledger.db, id, answer, new Date(Date.now() + seconds * 1_000)) }
  }

  @Get('payments/:id/answer')
  async answer(@Param('id') id: string): Promise<JsonObject> {
    const found = await findAnswer(this.ledger.db, id)
    if (found === null) throw new BillingError('not_found', 'no answer is stored for this payment')
    return encodeFoundAnswer(found)
  }

  @Get('payments')
  async paymentByAuthorization(@Query() query: JsonObject): Promise<JsonObject> {
    const found = await findPayment(
      this.ledger.db,
      decodeNetwork(query.network, 'network'),
      decodeAddressField(query.payer, 'payer'),
      decodeDecimal(query.nonce, 'nonce'),
    )
    if (found === null) throw new BillingError('not_found', 'unknown authorization')
    return { payment: encodePayment(toPayment(found)) }
  }

  @Get('tokens/:network/:asset')
  token(@Param('network') network: string, @Param('asset') asset: string): Token {
    const token = this.chains.get(decodeNetwork(network, 'network'))?.tokens.get(decodeAddressField(asset, 'asset'))
    if (token === undefined) throw new BillingError('not_found', 'this facilitator does not settle this token')
    return token
  }
}

function readKey(value: unknown): string {
  if (typeof value === 'string' && /^[\x21-\x7e]{1,200}$/.test(value)) return value
  const message = 'Idempotency-Key: must be set, 1 to 200 printable ASCII characters'
  throw new BillingError('invalid_request', message, 'Idempotency-Key')
}
