import { Body, Controller, Get, HttpCode, Post, Res, UseGuards } from '@nestjs/common'
import { type Address, decodeObject, GAS_SPONSORING, type Scheme } from '@upfront/protocol'
import type { SettleResponse, SupportedResponse, VerifyResponse } from '@x402/core/types'
import type { FastifyReply } from 'fastify'
import type { Chain } from '../chain/chain.js'
import { Chains } from '../chain/chains.js'
import { OPTIONAL_CHECK_TIMEOUT_MS, raceTimeout } from '../chain/race-timeout.js'
import type { SellerAccount } from '../ledger/schema.js'
import { Facilitator } from '../payments/facilitate.js'
import { SignerDirectory } from '../payments/signer-directory.js'
import { CallingSeller, OpenToSellers, ServiceTokenGuard } from './service-token.guard.js'

/** Header with the result of a payment's extensions, as base64 of JSON. Source: x402 `specs/extensions/bazaar.md`. */
const EXTENSION_RESPONSES = 'EXTENSION-RESPONSES'

/** `escrow` is not supported on EVM, and the price of `upto` is known only after the handler. */
const WAYS = {
  upto: { assetTransferMethods: ['permit2'], paymentFlows: ['authorization'] },
  exact: { assetTransferMethods: ['eip3009', 'permit2'], paymentFlows: ['authorization', 'upfront'] },
} as const

/**
 * x402's facilitator endpoints. `/supported` is public; the others need the service token or the token of a seller's account. Servers that
 * can only be given a URL put the token in its path; logs, spans and errors name routes, so it never appears there.
 */
@Controller()
export class FacilitatorController {
  constructor(
    private readonly facilitator: Facilitator,
    private readonly chains: Chains,
    private readonly signers: SignerDirectory,
  ) {}

  @Post(['verify', 's/:token/verify'])
  @HttpCode(200)
  @UseGuards(ServiceTokenGuard)
  @OpenToSellers()
  async verify(@Body() body: unknown, @CallingSeller() seller: SellerAccount | null): Promise<VerifyResponse> {
    const { paymentPayload, paymentRequirements } = decodeObject(body, 'body')
    return this.facilitator.verify(paymentPayload, paymentRequirements, seller)
  }

  @Post(['settle', 's/:token/settle'])
  @HttpCode(200)
  @UseGuards(ServiceTokenGuard)
  @OpenToSellers()
  async settle(
    @Body() body: unknown,
    @CallingSeller() seller: SellerAccount | null,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SettleResponse> {
    const { paymentPayload, paymentRequirements } = decodeObject(body, 'body')
    const { answer, listing } = await this.facilitator.settle(paymentPayload, paymentRequirements, seller)
    if (listing !== null) reply.header(EXTENSION_RESPONSES, base64({ bazaar: listing }))
    return answer
  }

  /**
   * `facilitatorAddress` is the same on every replica: replicas of an @x402/core seller refuse each other's offers if it differs.
   * `facilitatorAddresses` lists all addresses that an offer may name, for sellers that spread their load. `gasSponsoring` says per token
   * which extension its offers may name: clients sign for the first one that they know, even if the token does not support it.
   * `blockSeconds` is the current block time. `assetTransferMethods` and `paymentFlows` are the values allowed in an offer's `extra`.
   */
  @Get(['supported', 's/:token/supported'])
  async supported(): Promise<SupportedResponse> {
    const accepted = await this.signers.accepted()
    const kinds = await Promise.all(
      this.chains.all().map(async (chain) => {
        const { network } = chain
        const facilitatorAddresses = await this.signers.offered(network)
        const gasSponsoring = gasSponsoringOf(chain)
        const blockSeconds = await raceTimeout(OPTIONAL_CHECK_TIMEOUT_MS, chain.head.blockSeconds(), undefined)
        const extra = {
          ...{ facilitatorAddress: facilitatorAddresses[0], facilitatorAddresses, gasSponsoring },
          ...(blockSeconds === undefined ? {} : { blockSeconds }),
        }
        const of = (scheme: Scheme) => ({ x402Version: 2, scheme, network })
        return [
          { ...of('upto'), extra: { ...extra, ...WAYS.upto } },
          { ...of('exact'), extra: { gasSponsoring, ...WAYS.exact } },
        ]
      }),
    )
    const all = new Set([...accepted.values()].flatMap((addresses) => [...addresses]))
    const extensions = new Set(this.chains.all().flatMap((chain) => Object.values(gasSponsoringOf(chain))))
    return { kinds: kinds.flat(), extensions: ['bazaar', ...extensions], signers: { 'eip155:*': [...all].sort() } }
  }
}

function gasSponsoringOf({ sponsored }: Chain): Record<Address, string> {
  return Object.fromEntries([...sponsored].map((asset) => [asset, GAS_SPONSORING]))
}

function base64(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}
