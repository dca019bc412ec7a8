import { Injectable } from '@nestjs/common'
import { type Awaitable, andThen } from '@upfront/node'
import type { RequestView } from '../pending/request-view.js'
import { Admission } from '../requests/admission.js'
import { lengthOf } from '../requests/answer-sender.js'
import type { Request } from '../requests/request.js'
import type { RequestContext } from '../requests/request-context.js'
import type { RpcAnswer } from '../requests/rpc-method.js'
import { RpcService } from './rpc.service.js'

/** Serves JSON-RPC from every entrance: each request in its turn and within its time. */
@Injectable()
export class RpcEndpoint {
  constructor(
    private readonly rpc: RpcService,
    private readonly admission: Admission,
  ) {}

  /**
   * Serves a body (UTF-8 if it is bytes) and passes the answer to `send`, synchronously if there is nothing to wait for.
   * @param begin receives the context before the first call is served
   * @throws or rejects with what refuses the request as a whole, or what `send` throws
   */
  serve(
    request: Request,
    body: string | Buffer,
    send: (answer: RpcAnswer, view: RequestView, context: RequestContext) => void,
    begin?: (context: RequestContext) => void,
  ): Awaitable<void> {
    return this.admission.admit(request, (context) => {
      begin?.(context)
      return andThen(this.rpc.answer(body, context), (answer) => {
        context.spend({ bytes: body.length + lengthOf(answer.body ?? []) })
        context.release()
        send(answer, context.view, context)
      })
    })
  }

  /**
   * Serves one call.
   * @returns the answer, a JSON-RPC response with id 1
   * @throws or rejects with what refuses the request as a whole
   */
  async call(request: Request, method: string, params: unknown): Promise<{ answer: RpcAnswer; view: RequestView }> {
    return this.admission.admit(request, async (context) => {
      const answer = await this.rpc.answerEntry({ kind: 'request', id: 1, method, params }, context)
      context.spend({ bytes: request.length + lengthOf(answer.body ?? []) })
      return { answer, view: context.view }
    })
  }
}
