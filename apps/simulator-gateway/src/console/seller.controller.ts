import { Controller, Get, NotFoundException, Param, Req, Res } from '@nestjs/common'
import { ErrorCode, RpcError } from '@upfront/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../callers/callers.js'
import { Environment } from '../environment/environment.js'
import { FreeBudget } from '../limits/free-budget.js'

/** Reconciling a long ledger with the chain takes a while. */
const TIMEOUT_MS = 60_000
const MAX_BYTES = 8 * 1024 * 1024
const PAYMENT_ID = /^[\w-]{1,100}$/

/**
 * `GET /v1/seller/…`: the ledger for `/console/seller`. Requests are passed to billing with the caller's own token, never the gateway's:
 * billing refuses callers without one.
 */
@Controller('v1/seller')
export class SellerController {
  constructor(
    private readonly environment: Environment,
    private readonly free: FreeBudget,
  ) {}

  @Get(['payments', 'payments/totals', 'accounts', 'reconciliation'])
  async ledger(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const [, query = ''] = request.url.split('?', 2)
    const path = request.routeOptions.url?.slice('/v1/seller'.length) ?? ''
    await this.pass(request, reply, `${path}${query && `?${query}`}`)
  }

  @Get('payments/:id')
  async payment(@Param('id') id: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    // Any spelling of `..` in a path would leave `/payments`.
    if (!PAYMENT_ID.test(id)) throw new NotFoundException()
    await this.pass(request, reply, `/payments/${id}`)
  }

  private async pass(request: FastifyRequest, reply: FastifyReply, path: string): Promise<void> {
    await this.free.take(callerOf(request))
    const { authorization = '' } = request.headers
    let answer: { status: number; body: string }
    try {
      answer = await ask(`${this.environment.BILLING_URL}${path}`, authorization)
    } catch {
      throw new RpcError(ErrorCode.serverError, 'billing does not answer', undefined, 503)
    }
    reply
      .code(answer.status)
      .type('application/json; charset=utf-8')
      .header('cache-control', 'no-store')
      .send(answer.body)
  }
}

/** @throws if no answer comes in time, or if it is too long */
async function ask(url: string, authorization: string): Promise<{ status: number; body: string }> {
  const response = await fetch(url, {
    headers: { authorization },
    signal: AbortSignal.timeout(TIMEOUT_MS),
    redirect: 'error',
  })
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > MAX_BYTES) throw new Error('billing sent too long an answer')
    chunks.push(chunk)
  }
  return { status: response.status, body: Buffer.concat(chunks).toString() }
}
