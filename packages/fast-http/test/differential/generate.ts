/** Pseudo-random numbers, reproducible from a seed (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** A whole number below `limit`. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * limit) | 0
  }

  /** True once in `times` calls on average. */
  once(times: number): boolean {
    return this.below(times) === 0
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!
  }

  /** Returns `usual`, except once in `times` one of `others`. */
  mostly<T>(usual: T, times: number, others: readonly T[]): T {
    return this.once(times) ? this.pick(others) : usual
  }
}

const METHODS = [
  'GET',
  'PUT',
  'post',
  'HEAD',
  'OPTIONS',
  'DELETE',
  'PATCH',
  'PRI',
  'M-SEARCH',
  'P OST',
  '',
  'POST\t',
  'NONE',
]
const TARGETS = ['/?', '/x', '*', '', '//', '/ ', '/#', 'http://a/', '/\t', '/?dialect=ethereum', '/\xe4', '/\0']
const VERSIONS = ['HTTP/1.0', 'HTTP/1.2', 'HTTP/2.0', 'http/1.1', 'HTTP/1.1 ', ' HTTP/1.1', 'HTTP/1.1\t', 'HTTP/11', '']
const LINE_ENDS = ['\n', '\r', '\r\r\n', '\n\r', ' \r\n', '\t\r\n', '\0\r\n', '']
const SPACES = ['', '  ', '\t', ' \t', '\t ', '\v', '\f', '\r\n ', '\r\n\t', '\xa0', '\0']
const TYPES = [
  'application/json; charset=utf-8',
  'application/json;charset=UTF-8',
  'Application/JSON',
  'text/plain',
  'application/json-rpc',
  '',
]
const CONNECTIONS = ['close', 'Close', 'keep-alive', 'Keep-Alive', 'keep-alive, close', 'upgrade', 'x', '', 'TE, close']
const WRONG_LENGTHS = [
  '',
  '-1',
  '+5',
  '1e3',
  '0x5',
  '5;',
  '5, 5',
  '5 5',
  '999999999999',
  '18446744073709551621',
  'a',
  '0',
  '00',
  '\xb2',
]
const OTHER_HEADERS = [
  ['accept', '*/*'],
  ['accept-encoding', 'gzip, br'],
  ['content-encoding', 'identity'],
  ['content-encoding', 'gzip'],
  ['cookie', 'a=b'],
  ['date', 'x'],
  ['expect', '100-continue'],
  ['expect', 'nothing'],
  ['forwarded', 'for=1.2.3.4'],
  ['host', 'b'],
  ['content-type', 'text/plain'],
  ['content-length', '5'],
  ['keep-alive', 'timeout=1'],
  ['origin', 'https://a.example'],
  ['proxy-connection', 'close'],
  ['proxy-connection', 'keep-alive'],
  ['te', 'trailers'],
  ['trailer', 'x'],
  ['transfer-encoding', 'chunked'],
  ['transfer-encoding', 'identity'],
  ['transfer-encoding', 'gzip, chunked'],
  ['upgrade', 'websocket'],
  ['upgrade', 'h2c'],
  ['user-agent', 'viem \xe4'],
  ['x-forwarded-for', '1.2.3.4'],
  ['x-request-id', 'another'],
  ['x y', 'a space in the name'],
  ['', 'no name'],
  ['x\t', 'a tab in the name'],
  ['x\xe4', 'beyond ASCII'],
  ['x', 'a\0b'],
  ['x', 'a\tb'],
  ['x', 'a\x7fb'],
  ['x', 'a\x01b'],
  ['x', ''],
  ['__proto__', 'x'],
  ['constructor', 'x'],
  [':path', '/'],
  ["!#$%&'*+.^_`|~", 'every sign'],
] as const
const CHUNK_SIZES = ['', 'g', '-1', ' 5', '5 ', '5;a=b', '0x5', '00005', 'fffffffffffffffff']

/** One request as bytes (latin1): valid, except for an occasional fault. */
export function generateRequest(random: Random): string {
  const body = generateBody(random)
  const chunked = random.once(12)
  const length = random.mostly(String(body.length), 12, [
    ...WRONG_LENGTHS,
    `0${body.length}`,
    String(body.length + 1),
    String(Math.max(1, body.length - 1)),
  ])
  const headers: (readonly [string, string])[] = [
    ['Host', random.mostly('127.0.0.1', 20, ['', 'a b', 'a:b', '[::1]'])],
    ['Content-Type', random.mostly('application/json', 8, TYPES)],
  ]
  if (!chunked || random.once(6)) headers.push(['Content-Length', length])
  if (chunked)
    headers.push(['Transfer-Encoding', random.mostly('chunked', 6, ['Chunked', 'chunked, gzip', ' chunked ', 'x'])])
  if (random.once(3)) headers.push(['X-Request-Id', random.mostly('abc', 4, ['', 'a b', '\xe4', 'x'.repeat(80)])])
  if (random.once(4)) headers.push(['Connection', random.mostly('keep-alive', 2, CONNECTIONS)])
  for (let more = random.below(3); more > 0; more--) if (random.once(5)) headers.push(random.pick(OTHER_HEADERS))
  if (random.once(60)) headers.push(['X-Long', 'a'.repeat(random.pick([2_000, 10_000, 16_200, 17_000, 70_000]))])
  if (random.once(60))
    for (let more = random.pick([50, 63, 64, 65, 300]); more > 0; more--) headers.push([`x-${more}`, 'a'])
  if (random.once(15)) headers.splice(random.below(headers.length), 1)
  if (random.once(15)) headers.push(random.pick(headers) ?? ['Host', 'a'])
  if (random.once(3)) headers.reverse()
  const lineEnd = () => random.mostly('\r\n', 250, LINE_ENDS)
  const target = random.mostly('/', 25, TARGETS)
  const version = random.mostly('HTTP/1.1', 40, VERSIONS)
  let text = `${random.mostly('POST', 25, METHODS)} ${target} ${version}${lineEnd()}`
  for (const [name, value] of headers) {
    const cased = random.mostly(name, 3, [name.toLowerCase(), name.toUpperCase()])
    const before = random.mostly(' ', 80, SPACES)
    const after = random.mostly('', 80, SPACES)
    text += `${cased}${random.mostly(':', 200, [' :', '\t:', '', '::', ';'])}${before}${value}${after}${lineEnd()}`
  }
  text += `${lineEnd()}${chunked ? generateChunks(random, body) : body}`
  return random.once(25) ? damage(random, text) : text
}

function generateBody(random: Random): string {
  const text = random.pick([
    '{}',
    '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}',
    '"\xc3\xa4\xe2\x82\xac"',
    '"\xff\xfe"',
    '\0',
    '\r\n\r\n',
  ])
  return random.once(6) ? text.repeat(random.pick([2, 100, 3_000])) : random.once(20) ? '' : text
}

function generateChunks(random: Random, body: string): string {
  const size = random.mostly(body.length.toString(16), 6, CHUNK_SIZES)
  const trailer = random.mostly('', 6, ['x: y\r\n', 'content-length: 5\r\n', ' folded\r\n', '\0'])
  return `${size}\r\n${body}${random.mostly('\r\n', 12, ['', '\n', '\r'])}0\r\n${trailer}\r\n`
}

/** Inserts, removes or changes one byte. */
function damage(random: Random, text: string): string {
  const at = random.below(Math.min(text.length, 300))
  const byte = random.pick(['\0', '\t', '\r', '\n', ' ', ':', '\x7f', '\x80', '\xff', 'a', '\r\n'])
  return text.slice(0, at) + random.pick(['', byte]) + text.slice(at + random.below(2))
}

/** The bytes of one connection: up to four requests, seldom with something before or after them. */
export function generateSequence(random: Random): string[] {
  const requests = Array.from({ length: 1 + random.below(4) }, () => generateRequest(random))
  if (random.once(30))
    requests.unshift(random.pick(['\r\n', '\n', ' ', '\0', '\r\n\r\n\r\n', '\x16\x03\x01\x02\x00\x01']))
  if (random.once(30))
    requests.push(random.pick(['\r\n', 'POST', 'POST / HTTP/1.1\r\nhost', 'hello', '\0'.repeat(100)]))
  return requests
}
