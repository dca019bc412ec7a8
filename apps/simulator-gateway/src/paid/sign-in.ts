import { randomBytes } from 'node:crypto'
import { Injectable } from '@nestjs/common'
import { type Address, ErrorCode, RpcError } from '@upfront/protocol'
import {
  buildSIWxSchema,
  parseSIWxHeader,
  SIGN_IN_WITH_X,
  type SIWxPayload,
  validateSIWxMessage,
  verifySIWxSignature,
} from '@x402/extensions/sign-in-with-x'
import type { FastifyRequest } from 'fastify'
import { Environment } from '../environment/environment.js'

/** For how long a signed message is taken. */
const SECONDS = 300

/** HTTP 401, with what has to be signed. */
class SignInRequired extends RpcError {
  constructor(message: string, challenge: unknown) {
    super(ErrorCode.invalidRequest, message, { [SIGN_IN_WITH_X]: challenge }, 401)
  }
}

/** Who asks, by x402's extension `sign-in-with-x`: an EIP-4361 message in the header `SIGN-IN-WITH-X`, signed by an ordinary account. */
@Injectable()
export class SignIn {
  constructor(private readonly environment: Environment) {}

  /**
   * The account that signed for this very URL, lower-case.
   * @throws SignInRequired where the header is missing, or proves nothing
   */
  async account(request: FastifyRequest): Promise<Address> {
    const url = new URL(request.url, this.environment.PUBLIC_URL ?? `${request.protocol}://${request.host}`)
    const header = request.headers[SIGN_IN_WITH_X]
    if (typeof header !== 'string') throw this.required('sign the message in `data` as the payer', url)
    try {
      return await this.verify(parseSIWxHeader(header), url)
    } catch (error) {
      if (error instanceof SignInRequired) throw error
      throw this.required(`${SIGN_IN_WITH_X}: is not a signed message`, url)
    }
  }

  private async verify(payload: SIWxPayload, url: URL): Promise<Address> {
    const refuse = (problem: string) => this.required(`${SIGN_IN_WITH_X}: ${problem}`, url)
    if (payload.chainId !== this.environment.NETWORK) throw refuse(`chainId: expected ${this.environment.NETWORK}`)
    const message = await validateSIWxMessage(payload, url, { maxAge: SECONDS * 1000 })
    if (!message.isValid) throw refuse(message.invalidReason)
    if (new URL(payload.uri).pathname !== url.pathname) throw refuse('uri: is for something else')
    const signature = await verifySIWxSignature(payload)
    if (!signature.isValid) throw refuse(signature.invalidReason)
    return signature.payer.toLowerCase() as Address
  }

  private required(message: string, url: URL): SignInRequired {
    const now = Date.now()
    return new SignInRequired(message, {
      info: {
        domain: url.host,
        uri: url.href,
        statement: 'Show me what became of my payment.',
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
