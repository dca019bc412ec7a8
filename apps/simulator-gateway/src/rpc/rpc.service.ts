import { Inject, Injectable } from '@nestjs/common'
import {
  decodeEnvelope,
  type EnvelopeEntry,
  type EnvelopeLimits,
  ErrorCode,
  RpcError,
  rpcFailure,
} from '@upfront/protocol'
import { Environment } from '../environment.js'
import { asRpcError } from './failure.js'
import { RpcJournal } from './rpc-journal.js'
import { RPC_METHODS, type RpcContext, type RpcMethod } from './rpc-method.js'

export interface RpcAnswer {
  status: number
  /** JSON; absent where the request held nothing but notifications. */
  body?: string
}

/** Answers JSON-RPC 2.0 bodies. */
@Injectable()
export class RpcService {
  private readonly limits: EnvelopeLimits
  private readonly maxAnswerLength: number

  constructor(
    @Inject(RPC_METHODS) private readonly methods: ReadonlyMap<string, RpcMethod>,
    private readonly journal: RpcJournal,
    environment: Environment,
  ) {
    this.limits = { depth: 64, values: environment.MAX_JSON_VALUES, batchLength: environment.MAX_BATCH_LENGTH }
    this.maxAnswerLength = environment.MAX_ANSWER_BYTES
  }

  /** Entries of a batch are served one after another: a request is one unit of load, whatever it holds. */
  async answer(body: string, context: RpcContext): Promise<RpcAnswer> {
    let entries: EnvelopeEntry[]
    try {
      const envelope = decodeEnvelope(body, this.limits)
      const [only] = envelope.entries
      if (!envelope.batch && only !== undefined) return await this.answerEntry(only, context)
      entries = envelope.entries
    } catch (error) {
      const refusal = asRpcError(error)
      this.journal.note('none', context, performance.now(), refusal, error)
      return { status: refusal.httpStatus, body: JSON.stringify(rpcFailure(null, refusal)) }
    }
    return await this.answerBatch(entries, context)
  }

  private async answerBatch(entries: EnvelopeEntry[], context: RpcContext): Promise<RpcAnswer> {
    await context.admit?.(entries.length)
    const answers: string[] = []
    let length = 0
    for (const entry of entries) {
      const { body } = length > this.maxAnswerLength ? this.tooLong(entry) : await this.answerEntry(entry, context)
      if (body === undefined) continue
      length += body.length
      answers.push(body)
    }
    return answers.length === 0 ? { status: 204 } : { status: 200, body: `[${answers.join(',')}]` }
  }

  private async answerEntry(entry: EnvelopeEntry, context: RpcContext): Promise<RpcAnswer> {
    if (entry.kind === 'notification') return { status: 204 }
    if (entry.kind === 'invalid') {
      this.journal.note('none', context, performance.now(), entry.error, entry.error)
      return { status: entry.error.httpStatus, body: JSON.stringify(rpcFailure(entry.id, entry.error)) }
    }
    const started = performance.now()
    const method = this.methods.get(entry.method)
    try {
      context.signal.throwIfAborted()
      if (method === undefined) {
        throw new RpcError(
          ErrorCode.methodNotFound,
          `the method ${JSON.stringify(entry.method.slice(0, 64))} is not served`,
        )
      }
      const result = await method(entry.params, context)
      this.journal.note(entry.method, context, started)
      return { status: 200, body: `{"jsonrpc":"2.0","id":${JSON.stringify(entry.id)},"result":${result}}` }
    } catch (error) {
      const failure = asRpcError(error)
      this.journal.note(method === undefined ? 'unknown' : entry.method, context, started, failure, error)
      return { status: failure.httpStatus, body: JSON.stringify(rpcFailure(entry.id, failure)) }
    }
  }

  private tooLong(entry: EnvelopeEntry): RpcAnswer {
    if (entry.kind === 'notification') return { status: 204 }
    const error = new RpcError(
      ErrorCode.limitExceeded,
      `the batch's answer is longer than ${this.maxAnswerLength} bytes: this call was not carried out`,
    )
    return { status: 200, body: JSON.stringify(rpcFailure(entry.id, error)) }
  }
}
