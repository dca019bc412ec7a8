import { randomBytes } from 'node:crypto'
import { Injectable } from '@nestjs/common'
import { type Address, ErrorCode, RpcError } from '@upfront/protocol'
import { encodePaymentRequiredHeader } from '@x402/core/http'
import type { PaymentRequired } from '@x402/core/types'
import {
  buildSIWxSchema,
  parseSIWxHeader,
  SIGN_IN_WITH_X,
  type SIWxPayload,
  validateSIWxMessage,
  verifySIWxSignature,
} from '@x402/extensions/sign-in-with-x'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { Environment } from '../environment/environment.js'
import { refused } from '../limits/refused.js'
import { SharedRedis } from '../replicas/shared-redis.js'

/** How long a signed message is accepted. */
const SECONDS = 300

/** Names of the machine itself, as URLs have them. */
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/** Most used messages that a process remembers until they expire. */
const MAX_TAKEN = 100_000

/** HTTP 402 with the message to sign. */
class SignInRequired extends RpcError {
  constructor(
    message: string,
    readonly challenge: object,
  ) {
    super(ErrorCode.invalidRequest, message, { [SIGN_IN_WITH_X]: challenge }, 402)
  }
}

/**
 * Authenticates a payer by x402's extension `sign-in-with-x`: an EIP-4361 message in the header `SIGN-IN-WITH-X`, signed by an EOA. A
 * message is accepted once by all replicas together if they share a Redis that answers, otherwise once by each.
 */
@Injectable()
export class SignIn {
  private readonly taken = new LRUCache<string, true>({ max: MAX_TAKEN, ttl: SECONDS * 1_000 })

  constructor(
    private readonly environment: Environment,
    private readonly shared: SharedRedis,
  ) {}

  /**
   * The account that signed a message for this URL, in lower case.
   * @throws SignInRequired if the header is missing or invalid; the reply then has the header PAYMENT-REQUIRED, which x402 clients answer
   */
  async account(request: FastifyRequest, reply: FastifyReply): Promise<Address> {
    try {
      return await this.signedBy(request)
    } catch (error) {
      if (error instanceof SignInRequired) reply.header('payment-required', this.asOffer(error))
      throw error
    }
  }

  private async signedBy(request: FastifyRequest): Promise<Address> {
    const url = urlOf(request, this.environment.PUBLIC_URL)
    const header = request.headers[SIGN_IN_WITH_X]
    if (typeof header !== 'string') throw this.required('sign the message in `data` as the payer', url)
    try {
      return await this.verify(parseSIWxHeader(header), url)
    } catch (error) {
      if (error instanceof SignInRequired) throw error
      throw this.required(`${SIGN_IN_WITH_X}: is not a valid signed message`, url)
    }
  }

  private async verify(payload: SIWxPayload, url: URL): Promise<Address> {
    const refuse = (problem: string) => this.required(`${SIGN_IN_WITH_X}: ${problem}`, url)
    if (payload.chainId !== this.environment.NETWORK) throw refuse(`chainId: expected ${this.environment.NETWORK}`)
    const message = await validateSIWxMessage(payload, url, { maxAge: SECONDS * 1000 })
    if (!message.isValid) throw refuse(message.invalidReason)
    if (new URL(payload.uri).pathname !== url.pathname) throw refuse('uri: is not the URI of this request')
    const signature = await verifySIWxSignature(payload)
    if (!signature.isValid) throw refuse(signature.invalidReason)
    const payer = signature.payer.toLowerCase() as Address
    // EIP-4361 nonces are alphanumeric and signed in their case; addresses are accepted in any.
    if (!(await this.takeOnce(`${payer} ${payload.nonce}`)))
      throw refuse('this message was used before: sign a new one')
    return payer
  }

  private async takeOnce(message: string): Promise<boolean> {
    if (this.taken.has(message)) return false
    this.taken.set(message, true)
    const { redis, health } = this.shared
    if (redis === undefined || !health.mayAsk()) return true
    try {
      const taken = await redis.set(`upfront:signed-in:${message}`, '1', 'EX', SECONDS, 'NX')
      health.answered()
      return taken === 'OK'
    } catch (error) {
      health.failed(error)
      return true
    }
  }

  /** An offer of amount 0: clients look there for the network. */
  private asOffer({ message, challenge }: SignInRequired): string {
    const { NETWORK, ASSET = '', PAY_TO = '' } = this.environment
    const { info } = challenge as { info: { uri: string; statement: string } }
    const required: PaymentRequired = {
      x402Version: 2,
      error: message,
      resource: { url: info.uri, description: info.statement, mimeType: 'application/json' },
      accepts: [
        {
          ...{ scheme: 'exact', network: NETWORK as `eip155:${number}`, amount: '0', asset: ASSET, payTo: PAY_TO },
          ...{ maxTimeoutSeconds: SECONDS, extra: {} },
        },
      ],
      extensions: { [SIGN_IN_WITH_X]: challenge },
    }
    return encodePaymentRequiredHeader(required)
  }

  private required(message: string, url: URL): SignInRequired {
    const now = Date.now()
    return new SignInRequired(message, {
      info: {
        domain: url.host,
        uri: url.href,
        statement: 'Show me the state of my payment.',
        version: '1',
        nonce: randomBytes(16).toString('hex'),
        issuedAt: new Date(now).toISOString(),
        expirationTime: new Date(now + SECONDS * 1000).toISOString(),
      },
      supportedChains: [{ chainId: this.environment.NETWORK, type: 'eip191' }],
      schema: buildSIWxSchema(),
    })
  }
}

/**
 * The URL to sign for. The site is always `publicUrl`, even if the request target names another. Without it only a gateway on the client's
 * own machine is known by its name: otherwise another site could have a payer sign for itself, and name itself as the `Host` here.
 * @throws RpcError -32600 (HTTP 400, or 501 if the gateway does not know its URL)
 */
function urlOf(request: FastifyRequest, publicUrl?: string): URL {
  const site = publicUrl ?? `${request.protocol}://${request.host}`
  if (!URL.canParse(site)) throw refused(400, 'host: is not a valid host name')
  const { pathname, search } = new URL(request.url, site)
  const url = Object.assign(new URL(site), { pathname, search })
  if (publicUrl === undefined && !LOOPBACK.test(url.hostname))
    throw refused(501, "payers can't sign in here: the gateway's PUBLIC_URL is not set")
  return url
}
