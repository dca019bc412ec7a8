import { Inject, Injectable } from '@nestjs/common'
import { type Awaitable, andThen, inTurns, recovered, traced } from '@upfront/node'
import {
  decodeEnvelope,
  decodeEnvelopeInParts,
  type Envelope,
  type EnvelopeEntry,
  type EnvelopeLimits,
  ErrorCode,
  type JsonText,
  joinJson,
  quote,
  RpcError,
  type RpcId,
} from '@upfront/protocol'
import { Environment } from '../environment/environment.js'
import { besideJson } from './beside.js'
import { failureBody, failureOf } from './failure.js'
import { RpcJournal } from './rpc-journal.js'
import { RPC_METHODS, type RpcContext, type RpcMethod, type RpcResult } from './rpc-method.js'
import { SENDING_METHODS } from './sending-methods.js'

export interface RpcAnswer {
  status: number
  /** JSON, in parts that are to be sent one after another; absent where the request held nothing but notifications. */
  body?: readonly JsonText[]
}

/** Results of more characters are not copied into one string with what stands around them. */
const LONG = 16_384

const NOTHING: RpcAnswer = { status: 204 }

/** What is read of a JSON-RPC body. */
export function envelopeLimits({ MAX_JSON_VALUES, MAX_BATCH_LENGTH }: Environment): EnvelopeLimits {
  return { depth: 64, values: MAX_JSON_VALUES, batchLength: MAX_BATCH_LENGTH }
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
    this.limits = envelopeLimits(environment)
    this.maxAnswerLength = environment.MAX_ANSWER_BYTES
  }

  /** Entries of a batch are served one after another: a request is one unit of load, whatever it holds. */
  answer(body: string | Buffer, context: RpcContext): Awaitable<RpcAnswer> {
    if (context.isLarge) {
      return inTurns(decodeEnvelopeInParts(body, this.limits), context).then(
        (envelope) => this.answerEnvelope(envelope, context),
        (error) => this.refuse(null, error, context),
      )
    }
    let envelope: Envelope
    try {
      envelope = decodeEnvelope(body.toString(), this.limits)
    } catch (error) {
      return this.refuse(null, error, context)
    }
    return this.answerEnvelope(envelope, context)
  }

  private answerEnvelope({ batch, entries }: Envelope, context: RpcContext): Awaitable<RpcAnswer> {
    const [only] = entries
    return !batch && only !== undefined ? this.answerEntry(only, context) : this.answerBatch(entries, context)
  }

  private async answerBatch(entries: EnvelopeEntry[], context: RpcContext): Promise<RpcAnswer> {
    await context.admit?.(entries.length)
    const { signal } = context
    const answers: JsonText[] = []
    let length = 0
    for (const entry of entries) {
      const { body } = signal.aborted
        ? this.notServed(entry, signal.reason, context)
        : length > this.maxAnswerLength
          ? this.notServed(entry, this.tooLong(), context)
          : await this.answerEntry(entry, context)
      if (body === undefined) continue
      for (const part of body) length += part.length
      answers.push(answers.length === 0 ? '[' : ',', ...body)
    }
    return answers.length === 0 ? NOTHING : { status: 200, body: [joinJson([...answers, ']'])] }
  }

  private answerEntry(entry: EnvelopeEntry, context: RpcContext): Awaitable<RpcAnswer> {
    if (entry.kind === 'notification') return NOTHING
    if (entry.kind === 'invalid') return this.refuse(entry.id, entry.error, context)
    const { id, method: name, params } = entry
    const method = this.methods.get(name)
    if (method === undefined) {
      const error = new RpcError(
        ErrorCode.methodNotFound,
        `the method ${quote(name)} is not served${SENDING_METHODS.includes(name) ? ': SENDING is off' : ''}`,
      )
      return this.refuse(id, error, context)
    }
    const started = performance.now()
    const serve = () =>
      andThen(
        traced(name, () => method(params, context)),
        (result) => {
          this.journal.served(name, context, started)
          return { status: 200, body: successBody(id, result) }
        },
      )
    return recovered<RpcAnswer>(serve, (thrown) => {
      const failure = failureOf(thrown)
      this.journal.failed(name, context, started, failure, thrown)
      return { status: failure.httpStatus, body: [failureBody(id, failure)] }
    })
  }

  private refuse(id: string | number | null, thrown: unknown, context: RpcContext): RpcAnswer {
    const failure = failureOf(thrown)
    this.journal.failed('none', context, performance.now(), failure, thrown)
    return { status: failure.httpStatus, body: [failureBody(id, failure)] }
  }

  private notServed(entry: EnvelopeEntry, why: unknown, context: RpcContext): RpcAnswer {
    return entry.kind === 'notification' ? NOTHING : this.refuse(entry.id, why, context)
  }

  private tooLong(): RpcError {
    const message = `not carried out: the batch's answer is over ${this.maxAnswerLength} bytes already`
    return new RpcError(ErrorCode.limitExceeded, message)
  }
}

function successBody(id: RpcId, served: RpcResult): JsonText[] {
  const start = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
  if (typeof served === 'string' && served.length < LONG) return [`${start}${served}}`]
  if (typeof served === 'string' || Buffer.isBuffer(served)) return [start, served, '}']
  return [start, served.result, ...besideJson(served.beside), '}']
}
