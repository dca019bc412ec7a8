import { ErrorCode, RpcError } from '@upfront/protocol'
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'

export interface TokenRules {
  jwksUrl: string
  issuer?: string | undefined
  audience?: string | undefined
}

/** Verifies JWTs of an external issuer with the keys that it publishes. */
export class Tokens {
  readonly #keys: ReturnType<typeof createRemoteJWKSet>
  readonly #rules: TokenRules

  constructor(rules: TokenRules) {
    this.#rules = rules
    this.#keys = createRemoteJWKSet(new URL(rules.jwksUrl))
  }

  /**
   * The claims of a valid token; undefined if it is not valid.
   * @throws RpcError (HTTP 503) if the issuer's keys can't be fetched
   */
  async claimsOf(token: string): Promise<JWTPayload | undefined> {
    const { issuer, audience } = this.#rules
    try {
      const { payload } = await jwtVerify(token, this.#keys, {
        requiredClaims: ['sub', 'exp'],
        ...(issuer !== undefined && { issuer }),
        ...(audience !== undefined && { audience }),
      })
      return payload
    } catch (error) {
      const isBad = error instanceof errors.JOSEError && !UNREACHABLE.has(error.code)
      if (isBad) return undefined
      throw new RpcError(
        ErrorCode.limitExceeded,
        'tokens cannot be checked at the moment; try again later',
        undefined,
        503,
      )
    }
  }
}

/** Errors of fetching the key set: it did not arrive, or is not one. */
const UNREACHABLE = new Set(['ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID', 'ERR_JOSE_GENERIC'])
