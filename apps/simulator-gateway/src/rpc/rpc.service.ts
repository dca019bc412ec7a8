import { Inject, Injectable } from '@nestjs/common'
import { type Awaitable, andThen, catchError, runInSlices, traced } from '@upfront/node'
import {
  decodeEnvelope,
  decodeEnvelopeInParts,
  type Envelope,
  type EnvelopeEntry,
  type EnvelopeLimits,
  ErrorCode,
  type JsonText,
  joinJson,
  RpcError,
  type RpcId,
} from '@upfront/protocol'
import { Environment } from '../environment/environment.js'
import { FIXED } from '../environment/fixed.js'
import { SHORT_READS } from '../environment/read-methods.js'
import { SMALL_BYTES } from '../limits/memory.js'
import {
  extraFieldsJson,
  isBilled,
  RPC_METHODS,
  type RpcAnswer,
  type RpcContext,
  type RpcMethod,
  type RpcResult,
} from '../requests/rpc-method.js'
import { Telemetry } from '../telemetry/telemetry.js'
import { failureBody, failureOf, outcomeOf } from './failure.js'
import { SENDING_METHODS } from './sending-methods.js'

/** Characters of a method's name shown in errors. */
const SHOWN_NAME = 64

/** Longer results, in characters, are not copied into one string with their envelope. */
const LONG = 16_384

const NOTHING: RpcAnswer = { status: 204 }

/** Limits of a JSON-RPC body. */
export function envelopeLimits({ LIMITS }: Environment): EnvelopeLimits {
  return { depth: 64, values: FIXED.jsonValues, batchLength: LIMITS.batchLength }
}

/** Answers JSON-RPC 2.0 bodies. */
@Injectable()
export class RpcService {
  private readonly limits: EnvelopeLimits
  private readonly maxAnswerLength: number

  constructor(
    @Inject(RPC_METHODS) private readonly methods: ReadonlyMap<string, RpcMethod>,
    private readonly telemetry: Telemetry,
    environment: Environment,
  ) {
    this.limits = envelopeLimits(environment)
    this.maxAnswerLength = environment.LIMITS.answerBytes
  }

  /**
   * All calls of a batch use one head. Consecutive short reads are served concurrently, so that their requests to the node go out together;
   * all other calls are served one after another.
   */
  answer(body: string | Buffer, context: RpcContext): Awaitable<RpcAnswer> {
    if (context.isLarge)
      return runInSlices(decodeEnvelopeInParts(body, this.limits), context).then(
        (envelope) => this.answerEnvelope(envelope, context),
        (error) => this.refuse(null, error, context),
      )
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
    context.view.holdsSeveral = true
    const answers: JsonText[] = []
    let length = 0
    for (const together of inGroups(entries)) {
      const isTooLong = length > this.maxAnswerLength
      for (const { body } of await Promise.all(together.map((entry) => this.answerUnless(isTooLong, entry, context)))) {
        if (body === undefined) continue
        const before = length
        for (const part of body) length += part.length
        if (length - before > SMALL_BYTES) context.keep?.(length - before)
        answers.push(answers.length === 0 ? '[' : ',', ...body)
      }
    }
    if (answers.length === 0) return NOTHING
    answers.push(']')
    return { status: 200, body: length > SMALL_BYTES ? answers : [joinJson(answers)] }
  }

  private answerUnless(isTooLong: boolean, entry: EnvelopeEntry, context: RpcContext): Awaitable<RpcAnswer> {
    if (context.signal.aborted) return this.notServed(entry, context.signal.reason, context)
    return isTooLong ? this.notServed(entry, this.tooLong(), context) : this.answerEntry(entry, context)
  }

  /** Serves one entry of a body. */
  answerEntry(entry: EnvelopeEntry, context: RpcContext): Awaitable<RpcAnswer> {
    if (entry.kind === 'notification') return NOTHING
    if (entry.kind === 'invalid') return this.refuse(entry.id, entry.error, context)
    const { id, method: name, params } = entry
    const method = this.methods.get(name)
    if (method === undefined) {
      const error = new RpcError(
        ErrorCode.methodNotFound,
        `the method ${name.slice(0, SHOWN_NAME)} does not exist/is not available${SENDING_METHODS.includes(name) ? ': SENDING is off' : ''}`,
      )
      return this.refuse(id, error, context)
    }
    const started = performance.now()
    const serve = () =>
      andThen(
        traced(name, () => context.serve?.(name, method, params) ?? method(params, context)),
        (result) => {
          const milliseconds = performance.now() - started
          this.telemetry.tell('call.served', { method: name, requestId: context.requestId, milliseconds })
          return { status: 200, body: successBody(id, result) }
        },
      )
    return catchError<RpcAnswer>(serve, (thrown) => this.refuse(id, thrown, context, name, started))
  }

  private refuse(
    id: RpcId,
    thrown: unknown,
    { requestId }: RpcContext,
    method = 'none',
    started = performance.now(),
  ): RpcAnswer {
    const failure = failureOf(thrown)
    const outcome = outcomeOf(failure, thrown)
    const { message: reason } = failure.error
    const milliseconds = performance.now() - started
    const err = outcome === 'internal_error' ? { err: thrown } : {}
    this.telemetry.tell('call.failed', { requestId, method, outcome, milliseconds, reason, ...err })
    return { status: failure.httpStatus, body: [failureBody(id, failure)] }
  }

  private notServed(entry: EnvelopeEntry, why: unknown, context: RpcContext): RpcAnswer {
    return entry.kind === 'notification' ? NOTHING : this.refuse(entry.id, why, context)
  }

  private tooLong(): RpcError {
    const message = `not executed: the batch's answer is already longer than ${this.maxAnswerLength} bytes`
    return new RpcError(ErrorCode.limitExceeded, message)
  }
}

/** Groups consecutive short reads; every other entry is a group of its own. */
function inGroups(entries: readonly EnvelopeEntry[]): EnvelopeEntry[][] {
  const groups: EnvelopeEntry[][] = []
  let isOpen = false
  for (const entry of entries) {
    const isShort = entry.kind === 'request' && SHORT_READS.has(entry.method)
    if (isShort && isOpen) groups.at(-1)!.push(entry)
    else groups.push([entry])
    isOpen = isShort
  }
  return groups
}

function successBody(id: RpcId, served: RpcResult): JsonText[] {
  const start = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
  if (typeof served === 'string' && served.length < LONG) return [`${start}${served}}`]
  const { result, extraFields } = isBilled(served) ? served : { result: served, extraFields: {} }
  return [start, ...[result].flat(), ...extraFieldsJson(extraFields), '}']
}
