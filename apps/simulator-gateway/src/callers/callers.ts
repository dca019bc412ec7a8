import { createHash } from 'node:crypto'
import { Injectable } from '@nestjs/common'
import { ErrorCode, RpcError } from '@upfront/protocol'
import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { Environment } from '../environment/environment.js'
import { counters } from '../limits/counters.js'
import type { Caller } from '../limits/free-budget.js'
import { FreeBudget } from '../limits/free-budget.js'
import { SharedRedis } from '../replicas/shared-redis.js'
import { Tokens } from './tokens.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set where the request has a key or a token. */
    caller: Caller | undefined
    /** When its token expires, seconds since 1970. */
    callerUntil: number | undefined
  }
}

/** The headers that name a caller. */
export const CALLER_HEADERS = ['authorization', 'x-api-key'] as const

const MOST_REMEMBERED = 10_000

/** HTTP 401: a key that nobody gave out, or a token that is not good. */
class Unauthorized extends RpcError {
  constructor(message: string) {
    super(ErrorCode.invalidRequest, message, undefined, 401)
  }
}

/** As the free budgets count them. */
export function callerOf(request: FastifyRequest): Caller {
  return request.caller ?? request.ip ?? ''
}

/** Knows callers by API key (`API_KEYS_FILE`) and by token (`JWT_JWKS_URL`); who shows neither is known by address. */
@Injectable()
export class Callers {
  /** By SHA-256 of the key. */
  private readonly holders = new Map<string, Caller>()
  private readonly tokens: Tokens | undefined
  /** By subject: those whose tokens were good lately. */
  private readonly subjects = new LRUCache<string, Caller>({ max: MOST_REMEMBERED })

  constructor(
    environment: Environment,
    shared: SharedRedis,
    private readonly free: FreeBudget,
  ) {
    const { API_KEYS_FILE: keys = [], JWT_JWKS_URL: jwksUrl, LIMITS } = environment
    const counter = counters(shared)
    for (const { name, sha256, ...own } of keys) {
      const client = `key ${name}`
      const named: typeof counter = (options) => counter({ ...options, name: `${client}:${options.name}` })
      this.holders.set(sha256, { client, budget: new FreeBudget({ ...LIMITS, ...own }, named) })
    }
    if (jwksUrl !== undefined)
      this.tokens = new Tokens({ jwksUrl, issuer: environment.JWT_ISSUER, audience: environment.JWT_AUDIENCE })
  }

  /** Whether keys or tokens are looked at at all. */
  get areKnown(): boolean {
    return this.holders.size > 0 || this.tokens !== undefined
  }

  /**
   * Undefined where the request shows neither.
   * @throws Unauthorized; RateLimited where an address tries too many
   */
  async of(request: FastifyRequest): Promise<Caller | undefined> {
    const { headers, ip } = request
    const { authorization, 'x-api-key': key } = headers
    const shown = typeof key === 'string' ? key : /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
    if (shown === undefined && authorization === undefined) return undefined
    const caller = shown === undefined ? undefined : await this.known(shown, request)
    if (caller !== undefined) return caller
    await this.free.take(ip)
    throw new Unauthorized('this API key or token is not known, or no longer good')
  }

  private async known(shown: string, request: FastifyRequest): Promise<Caller | undefined> {
    const holder = this.holders.get(createHash('sha256').update(shown).digest('hex'))
    if (holder !== undefined || shown.split('.').length !== 3) return holder
    const claims = await this.tokens?.claimsOf(shown)
    if (typeof claims?.sub !== 'string' || claims.sub === '') return undefined
    request.callerUntil = claims.exp
    const client = `token ${claims.iss ?? ''} ${claims.sub}`
    const caller = this.subjects.get(client) ?? { client, budget: this.free }
    this.subjects.set(client, caller)
    return caller
  }
}
