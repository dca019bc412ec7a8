import { Inject, Injectable } from '@nestjs/common'
import { decodeEnvelope, type EnvelopeEntry, type EnvelopeLimits, ErrorCode, quote, RpcError } from '@upfront/protocol'
import { Environment } from '../environment.js'
import { failureBody, failureOf } from './failure.js'
import { RpcJournal } from './rpc-journal.js'
import { RPC_METHODS, type RpcContext, type RpcMethod, type RpcResult } from './rpc-method.js'

export interface RpcAnswer {
  status: number
  /** JSON; absent where the request held nothing but notifications. */
  body?: string
}

const NOTHING: RpcAnswer = { status: 204 }

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
      return this.refuse(null, error, context)
    }
    await context.admit?.(entries.length)
    return await this.answerBatch(entries, context)
  }

  private async answerBatch(entries: EnvelopeEntry[], context: RpcContext): Promise<RpcAnswer> {
    const answers: string[] = []
    let length = 0
    for (const entry of entries) {
      const { body } =
        length > this.maxAnswerLength ? this.tooLong(entry, context) : await this.answerEntry(entry, context)
      if (body === undefined) continue
      length += body.length
      answers.push(body)
    }
    return answers.length === 0 ? NOTHING : { status: 200, body: `[${answers.join(',')}]` }
  }

  private async answerEntry(entry: EnvelopeEntry, context: RpcContext): Promise<RpcAnswer> {
    if (entry.kind === 'notification') return NOTHING
    if (entry.kind === 'invalid') return this.refuse(entry.id, entry.error, context)
    const { id, method: name, params } = entry
    const method = this.methods.get(name)
    if (method === undefined) {
      const error = new RpcError(ErrorCode.methodNotFound, `the method ${quote(name)} is not served`)
      return this.refuse(id, error, context)
    }
    const started = performance.now()
    try {
      context.signal.throwIfAborted()
      const result = await method(params, context)
      this.journal.served(name, context, started)
      return { status: 200, body: `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${membersOf(result)}}` }
    } catch (thrown) {
      const failure = failureOf(thrown)
      this.journal.failed(name, context, started, failure, thrown)
      return { status: failure.httpStatus, body: failureBody(id, failure) }
    }
  }

  private refuse(id: string | number | null, thrown: unknown, context: RpcContext): RpcAnswer {
    const failure = failureOf(thrown)
    this.journal.failed('none', context, performance.now(), failure, thrown)
    return { status: failure.httpStatus, body: failureBody(id, failure) }
  }

  private tooLong(entry: EnvelopeEntry, context: RpcContext): RpcAnswer {
    if (entry.kind === 'notification') return NOTHING
    const message = `not carried out: the batch's answer is over ${this.maxAnswerLength} bytes already`
    return this.refuse(entry.id, new RpcError(ErrorCode.limitExceeded, message), context)
  }
}

function membersOf(served: RpcResult): string {
  return typeof served === 'string' ? `"result":${served}` : `"result":${served.result},"charge":${served.charge}`
}
