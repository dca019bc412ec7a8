import type { Parts } from '@upfront/protocol'
import type { Secrets } from './secrets.js'

/** Characters checked in one part. */
const PART_LENGTH = 256 * 1024
/** Most distinct strings other than hex data. No method's answer has that many field names. */
const MAX_STRINGS = 1_000
const HEX = /0x[0-9a-f]*"/iy
const LITERAL = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
/** What may hide an escape, or never occurs in JSON written without spaces. */
const NOT_PLAIN = /[^ -\uffff]|\\/
const OPENING = /^\s*\{"jsonrpc":"2\.0","id":(\d+),"result":/
const CLOSING = /\}\s*$/

/** A result left as JSON text. */
export class ResultText {
  constructor(readonly json: string) {}
}

/** The text of `result` in a node's answer to one call, not validated; undefined if the answer is not laid out as expected. */
export function resultText(text: string, id: number): string | undefined {
  const [opening = '', answered] = OPENING.exec(text.slice(0, 100)) ?? []
  const [closing = ''] = CLOSING.exec(text.slice(-100)) ?? []
  if (Number(answered) !== id || closing === '') return undefined
  const result = text.slice(opening.length, text.length - closing.length)
  return result.includes('\n') ? undefined : result
}

/**
 * {@link resultText}, checked to be one JSON value without parsing it, so that it can be passed on unchanged.
 * @returns undefined also if it may contain a secret: it must then be parsed
 */
export function* resultTextInParts(text: string, id: number, secrets: Secrets): Parts<string | undefined> {
  const result = resultText(text, id)
  if (result === undefined) return undefined
  for (let at = 0; at < result.length; at += PART_LENGTH) {
    // A secret may span two parts.
    const part = result.slice(Math.max(0, at - 1_024), at + PART_LENGTH)
    if (NOT_PLAIN.test(part) || secrets.mayBeInHex(part)) return undefined
    yield
  }
  const strings = new Set<string>()
  if (!(yield* isOneValue(result, strings))) return undefined
  return secrets.occurIn([...strings]) ? undefined : result
}

/** Whether a text without escapes is one JSON value. @param strings collects its strings other than hex data */
function* isOneValue(text: string, strings: Set<string>): Parts<boolean> {
  /** For each open bracket, whether it is an object's. */
  const open: boolean[] = []
  let expects: 'value' | 'value or end' | 'key' | 'key or end' | 'colon' | 'comma' = 'value'
  let next = PART_LENGTH
  for (let at = 0; at < text.length; ) {
    if (at > next) {
      next = at + PART_LENGTH
      yield
    }
    const isKey: boolean = expects === 'key' || expects === 'key or end'
    const isValue = expects === 'value' || expects === 'value or end'
    switch (text[at]) {
      case ' ':
        at += 1
        break
      case '"': {
        if (!isKey && !isValue) return false
        HEX.lastIndex = at + 1
        const isHex = !isKey && HEX.test(text)
        const end = isHex ? HEX.lastIndex : text.indexOf('"', at + 1) + 1
        if (end === 0) return false
        if (!isHex && strings.add(text.slice(at + 1, end - 1)).size > MAX_STRINGS) return false
        at = end
        expects = isKey ? 'colon' : 'comma'
        break
      }
      case '{':
      case '[':
        if (!isValue) return false
        open.push(text[at] === '{')
        expects = text[at] === '{' ? 'key or end' : 'value or end'
        at += 1
        break
      case '}':
      case ']': {
        const isEnd = expects === 'comma' || expects === (text[at] === '}' ? 'key or end' : 'value or end')
        if (!isEnd || open.pop() !== (text[at] === '}')) return false
        expects = 'comma'
        at += 1
        break
      }
      case ',':
        if (expects !== 'comma' || open.length === 0) return false
        expects = open.at(-1) ? 'key' : 'value'
        at += 1
        break
      case ':':
        if (expects !== 'colon') return false
        expects = 'value'
        at += 1
        break
      default:
        LITERAL.lastIndex = at
        if (!isValue || !LITERAL.test(text)) return false
        strings.add(text.slice(at, LITERAL.lastIndex))
        if (strings.size > MAX_STRINGS) return false
        at = LITERAL.lastIndex
        expects = 'comma'
    }
  }
  return expects === 'comma' && open.length === 0
}
