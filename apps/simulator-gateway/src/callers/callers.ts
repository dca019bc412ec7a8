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
    /** Set if the request carries a valid key or token. */
    caller: Caller | undefined
    /** When the caller's token expires, in seconds since 1970. */
    callerUntil: number | undefined
  }
}

/** The headers that name a caller. */
export const CALLER_HEADERS = ['authorization', 'x-api-key'] as const

const MAX_REMEMBERED = 10_000

/** HTTP 401: an unknown key, or an invalid token. */
class Unauthorized extends RpcError {
  constructor(message: string) {
    super(ErrorCode.invalidRequest, message, undefined, 401)
  }
}

/** The caller that the free budgets count. */
export function callerOf(request: FastifyRequest): Caller {
  return request.caller ?? request.ip ?? ''
}

/** Identifies callers by API key (`API_KEYS_FILE`) or token (`JWT_JWKS_URL`); everyone else is identified by address. */
@Injectable()
export class Callers {
  /** By the key's SHA-256. */
  private readonly holders = new Map<string, Caller>()
  private readonly tokens: Tokens | undefined
  /** Recent token holders, by issuer and subject. */
  private readonly subjects = new LRUCache<string, Caller>({ max: MAX_REMEMBERED })

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

  /** Whether keys or tokens are configured. */
  get areKnown(): boolean {
    return this.holders.size > 0 || this.tokens !== undefined
  }

  /**
   * The holder of the request's key or token; undefined if it carries neither.
   * @throws Unauthorized if the key or token is not valid; RateLimited if the address tries too many
   */
  async of(request: FastifyRequest): Promise<Caller | undefined> {
    const { headers, ip } = request
    const { authorization, 'x-api-key': key } = headers
    const shown = typeof key === 'string' ? key : /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
    if (shown === undefined && authorization === undefined) return undefined
    const caller = shown === undefined ? undefined : await this.known(shown, request)
    if (caller !== undefined) return caller
    await this.free.take(ip)
    throw new Unauthorized('this API key or token is unknown or has expired')
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
