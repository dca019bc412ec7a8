import { type RpcErrorObject, UpstreamFault } from './upstream-fault.js'

export type Answer = { result: unknown } | { fault: UpstreamFault }

/** `params`: a list, or the JSON of one. */
interface CallText {
  method: string
  params: readonly unknown[] | string
}

/** The body of one HTTP request: one call as an object, several as a batch. Ids run from `firstId` on. */
export function encodeCalls(calls: readonly CallText[], firstId: number): string {
  const requests = calls.map(({ method, params }, index) => {
    const text = typeof params === 'string' ? params : JSON.stringify(params)
    return `{"jsonrpc":"2.0","id":${firstId + index},"method":${JSON.stringify(method)},"params":${text}}`
  })
  return requests.length === 1 ? requests[0]! : `[${requests.join(',')}]`
}

/**
 * The answers to `count` calls whose ids run from `firstId` on, in the calls' order whatever the node's.
 * @throws UpstreamFault where the text answers none of them
 */
export function matchAnswers(text: string, firstId: number, count: number): Answer[] {
  const parsed = parse(text)
  if (!Array.isArray(parsed)) {
    if (!isRecord(parsed)) throw new UpstreamFault('malformed', 'neither a JSON-RPC answer nor a batch of them')
    if (count > 1) throw refusedBatch(parsed)
    return [parsed.id === firstId || isErrorWithoutId(parsed) ? readAnswer(parsed) : wrongId()]
  }
  if (parsed.length === 0) throw new UpstreamFault('batch-refused', 'an empty batch')
  const answers = new Array<Answer | undefined>(count)
  let strangers = false
  for (const entry of parsed) {
    const index = isRecord(entry) && typeof entry.id === 'number' ? entry.id - firstId : -1
    if (!Number.isInteger(index) || index < 0 || index >= count || answers[index] !== undefined) strangers = true
    else answers[index] = readAnswer(entry)
  }
  const lone = parsed.length === 1 && count > 1 ? readAnswer(parsed[0]) : undefined
  if (lone !== undefined && 'fault' in lone && lone.fault.kind === 'rpc-error')
    throw new UpstreamFault('batch-refused', `batch refused: ${lone.fault.message}`, lone.fault.detail)
  for (let index = 0; index < count; index += 1) answers[index] ??= strangers ? wrongId() : missing()
  return answers as Answer[]
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const shown = text.trimStart().slice(0, 40)
    throw new UpstreamFault('not-json', shown === '' ? 'an empty answer' : `not JSON: ${JSON.stringify(shown)}`)
  }
}

function readAnswer(entry: unknown): Answer {
  if (!isRecord(entry)) return { fault: new UpstreamFault('malformed', 'not a JSON-RPC answer') }
  const { result, error } = entry
  const hasError = error !== undefined && error !== null
  if (hasError && result !== undefined && result !== null)
    return { fault: new UpstreamFault('malformed', 'both result and error') }
  if (hasError) {
    const rpc = readError(error)
    return { fault: new UpstreamFault('rpc-error', rpc.message, { rpc }) }
  }
  if (result === undefined) return { fault: new UpstreamFault('malformed', 'neither result nor error') }
  return { result }
}

function readError(error: unknown): RpcErrorObject {
  if (!isRecord(error)) return { code: 0, message: String(error).slice(0, 200) }
  const { code, message, data } = error
  return {
    code: typeof code === 'number' ? code : 0,
    message: typeof message === 'string' ? message.slice(0, 500) : 'error without a message',
    ...(data === undefined ? {} : { data }),
  }
}

function refusedBatch(parsed: Record<string, unknown>): UpstreamFault {
  const answer = readAnswer(parsed)
  if ('fault' in answer && answer.fault.kind === 'rpc-error')
    return new UpstreamFault('batch-refused', `batch refused: ${answer.fault.message}`, answer.fault.detail)
  return new UpstreamFault('malformed', 'one answer to a batch')
}

function isErrorWithoutId(parsed: Record<string, unknown>): boolean {
  return (parsed.id === null || parsed.id === undefined) && isRecord(parsed.error)
}

const wrongId = (): Answer => ({ fault: new UpstreamFault('malformed', 'answer with a wrong id') })
const missing = (): Answer => ({ fault: new UpstreamFault('missing-answer', 'batch answered in part') })

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
