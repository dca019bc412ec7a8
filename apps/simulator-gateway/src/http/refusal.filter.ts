import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusals } from './refusals.js'

/** Answers requests whose handler threw, and those that have no handler. */
@Catch()
export class RefusalFilter implements ExceptionFilter {
  constructor(private readonly refusals: Refusals) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<FastifyRequest>()
    const reply = host.switchToHttp().getResponse<FastifyReply>()
    if (reply.sent) return
    const refusal = this.refusals.of(thrown, request)
    if (refusal !== undefined) reply.code(refusal.status).headers(refusal.headers).send(refusal.body)
  }
}
