import type { Secrets } from './secrets.js'
import { type RpcErrorObject, UpstreamFault } from './upstream-fault.js'

export type CallResult = { result: unknown } | { fault: UpstreamFault }

const WITHHELD = "the node's message is withheld: it contains part of the node's URL"

/** What nodes and sequencers send has more characters per value on average, even blocks full of logs without data. */
const CHARACTERS_PER_VALUE = 16
/** As many values take little memory and time, whatever they are. */
const MIN_VALUES = 250_000

/** `params`: a list, or its JSON. */
interface CallText {
  method: string
  params: readonly unknown[] | string
}

/** The body of one HTTP request: a single call as an object, several as a batch. Ids count up from `firstId`. */
export function encodeCalls(calls: readonly CallText[], firstId: number): string {
  const requests = calls.map(({ method, params }, index) => {
    const text = typeof params === 'string' ? params : JSON.stringify(params)
    return `{"jsonrpc":"2.0","id":${firstId + index},"method":${JSON.stringify(method)},"params":${text}}`
  })
  return requests.length === 1 ? requests[0]! : `[${requests.join(',')}]`
}

/**
 * The answers to `count` calls with ids from `firstId` on, in the order of the calls. Error messages that contain a secret are withheld.
 * @throws UpstreamFault if the text answers none of them, is inconsistent (an unknown id, or one id twice), or holds far more values than the
 * answers of nodes do
 */
export function matchAnswers(text: string, firstId: number, count: number, secrets: Secrets): CallResult[] {
  const parsed = parse(text)
  if (!Array.isArray(parsed)) {
    if (!isRecord(parsed)) throw new UpstreamFault('malformed', 'neither a JSON-RPC answer nor a batch of them')
    if (count > 1) throw batchRefusal(parsed, secrets)
    if (parsed.id !== firstId && !isErrorWithoutId(parsed)) throw wrongId()
    return [readAnswer(parsed, secrets)]
  }
  if (parsed.length === 0) throw new UpstreamFault('batch-refused', 'an empty batch')
  const [first] = parsed
  if (parsed.length === 1 && count > 1 && isRecord(first) && isRecord(first.error)) throw batchRefusal(first, secrets)
  const answers = new Array<CallResult | undefined>(count)
  for (const entry of parsed) {
    const index = isRecord(entry) && typeof entry.id === 'number' ? entry.id - firstId : -1
    if (!Number.isInteger(index) || index < 0 || index >= count || answers[index] !== undefined) throw wrongId()
    answers[index] = readAnswer(entry, secrets)
  }
  for (let index = 0; index < count; index += 1) answers[index] ??= missing()
  return answers as CallResult[]
}

function parse(text: string): unknown {
  if (hasTooManyValues(text)) throw new UpstreamFault('malformed', 'an answer of too many values')
  try {
    return JSON.parse(text)
  } catch {
    throw new UpstreamFault('not-json', text.trim() === '' ? 'an empty answer' : 'an answer that is not JSON')
  }
}

/**
 * Whether `JSON.parse` could take many times the text's length in memory, as it does for brackets. Judged by the number of commas and
 * opening brackets, those in strings included.
 */
export function hasTooManyValues(text: string): boolean {
  if (text.length <= MIN_VALUES) return false
  let left = Math.max(MIN_VALUES, text.length / CHARACTERS_PER_VALUE)
  for (const mark of ',[{')
    for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + 1)) if (--left < 0) return true
  return false
}

function readAnswer(entry: Record<string, unknown>, secrets: Secrets): CallResult {
  const { result, error } = entry
  const hasError = error !== undefined && error !== null
  if (hasError && result !== undefined && result !== null)
    return { fault: new UpstreamFault('malformed', 'both result and error') }
  if (hasError) {
    const rpc = readError(error, secrets)
    return { fault: new UpstreamFault('rpc-error', rpc.message, { rpc }) }
  }
  if (result === undefined) return { fault: new UpstreamFault('malformed', 'neither result nor error') }
  return { result }
}

function readError(error: unknown, secrets: Secrets): RpcErrorObject {
  const { code, message, data } = isRecord(error) ? error : { code: 0, message: String(error), data: undefined }
  const number = typeof code === 'number' ? code : 0
  if (secrets.occurIn([message, data, number])) return { code: number, message: WITHHELD }
  return {
    code: number,
    message: typeof message === 'string' ? message.slice(0, 500) : 'error without a message',
    ...(data === undefined || !isWritable(data) ? {} : { data }),
  }
}

/** Whether `JSON.stringify` writes it: its stack overflows on values that are nested some thousands of times. */
function isWritable(data: unknown): boolean {
  if (typeof data !== 'object') return true
  try {
    JSON.stringify(data)
    return true
  } catch {
    return false
  }
}

function batchRefusal(parsed: Record<string, unknown>, secrets: Secrets): UpstreamFault {
  const answer = readAnswer(parsed, secrets)
  if ('fault' in answer && answer.fault.kind === 'rpc-error')
    return new UpstreamFault('batch-refused', `batch refused: ${answer.fault.message}`, answer.fault.detail)
  return new UpstreamFault('malformed', 'one answer to a batch')
}

function isErrorWithoutId(parsed: Record<string, unknown>): boolean {
  return (parsed.id === null || parsed.id === undefined) && isRecord(parsed.error)
}

const wrongId = () => new UpstreamFault('malformed', 'an answer with an id that was not asked for, or one id twice')
const missing = (): CallResult => ({ fault: new UpstreamFault('missing-answer', 'batch answered in part') })

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
