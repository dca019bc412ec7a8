/** Secrets of this length or more are also found inside words; shorter ones only as separate words. */
const UNMISTAKABLE_LENGTH = 6
/** In hex data, which comes from the chain, only secrets this long are recognised. */
const UNMISTAKABLE_HEX = /^[0-9a-f]{16,}$/
/** Path segments that are names, not keys. */
const PLAIN_PATH_PARTS = new Set('api eth ethereum ext http https json jsonrpc mainnet node rpc v1 v2 v3 v4'.split(' '))
const BASE64_RUN = /[a-z0-9+/_-]{4,}/gi
const PRINTABLE = /^[\x20-\x7e]+$/
/** How many nested encodings are undone. */
const MAX_DEPTH = 2
/** Longer texts are only searched for the secret and its own encodings, not decoded. */
const MAX_DECODED_LENGTH = 65_536

/**
 * Parts of a node's URL that may be keys: user info, path segments and query values. Nodes quote them in errors that are shown to users.
 * Found in plain text, URL-escaped, in base64, and in any case.
 */
export class Secrets {
  readonly #pattern: RegExp | undefined
  readonly #hexPattern: RegExp | undefined

  constructor(url: URL) {
    const plain = secretsOf(url).flatMap((secret) => [secret, unescaped(secret)])
    const forms = [...new Set(plain.flatMap(formsOf).map((form) => form.toLowerCase()))]
    this.#pattern = anyOf(forms)
    this.#hexPattern = anyOf(forms.filter((form) => UNMISTAKABLE_HEX.test(form)))
  }

  /** Whether a string or number in the JSON value contains a secret. */
  occurIn(value: unknown): boolean {
    if (this.#pattern === undefined) return false
    const open = [value]
    while (open.length > 0) {
      const next = open.pop()
      if (typeof next === 'string' || typeof next === 'number') {
        if (this.#areInText(String(next), MAX_DEPTH)) return true
      } else if (typeof next === 'object' && next !== null) {
        for (const [key, part] of Object.entries(next)) open.push(Array.isArray(next) ? undefined : key, part)
      }
    }
    return false
  }

  /** Whether hex data in the text may contain a secret. */
  mayBeInHex(text: string): boolean {
    return this.#hexPattern?.test(text) ?? false
  }

  #areInText(text: string, depth: number): boolean {
    if (/^0x[0-9a-f]*$/i.test(text)) return this.#hexPattern?.test(text) ?? false
    if (this.#pattern?.test(text)) return true
    if (depth === 0 || text.length > MAX_DECODED_LENGTH) return false
    const plain = unescaped(text)
    if (plain !== text && this.#areInText(plain, depth - 1)) return true
    // The run may begin before the base64 of the secret does.
    for (const [run] of text.matchAll(BASE64_RUN))
      for (let offset = 0; offset < 4; offset += 1) {
        const decoded = Buffer.from(run.slice(offset), 'base64').toString('latin1')
        if (PRINTABLE.test(decoded) && this.#areInText(decoded, depth - 1)) return true
      }
    return false
  }
}

function anyOf(forms: readonly string[]): RegExp | undefined {
  return forms.length === 0 ? undefined : new RegExp(forms.map(patternOf).join('|'), 'i')
}

function secretsOf(url: URL): string[] {
  const path = url.pathname.split('/').filter((part) => !PLAIN_PATH_PARTS.has(part.toLowerCase()))
  const query = [...new URLSearchParams(url.search)].map(([name, value]) => (value === '' ? name : value))
  return [
    url.username,
    url.password,
    `${unescaped(url.username)}:${unescaped(url.password)}`,
    ...path,
    ...query,
  ].filter((part) => part !== '' && part !== ':')
}

/** The secret itself, escaped, and the part of its base64 that does not depend on what follows it. */
function formsOf(secret: string): string[] {
  const base64 = Buffer.from(secret).toString('base64').replace(/=+$/, '')
  const whole = Buffer.from(secret)
    .subarray(0, Math.floor(Buffer.byteLength(secret) / 3) * 3)
    .toString('base64')
  const all = [secret, encodeURIComponent(secret), encodeURI(secret), base64, ...(whole.length >= 8 ? [whole] : [])]
  return all.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')])
}

function patternOf(form: string): string {
  const literal = form.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
  return form.length >= UNMISTAKABLE_LENGTH ? literal : `(?<![a-z0-9])${literal}(?![a-z0-9])`
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  }
}
