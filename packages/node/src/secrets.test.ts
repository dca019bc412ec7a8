import { Secrets } from './secrets.js'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const URLS = {
  path: 'https://rpc.example/v3/0a1B2c3D4e5F',
  'short path': 'https://rpc.example/v3/k3',
  query: 'https://rpc.example/?token=so-very%2Fhidden',
  'bare query': 'https://rpc.example/eth?s3cr3t',
  'user info': 'https://us%20er:p%40ss@rpc.example/',
  'short user info': 'https://a:b@rpc.example/',
}
const secrets = Object.fromEntries(Object.entries(URLS).map(([name, url]) => [name, new Secrets(new URL(url))]))

const QUOTES: [keyof typeof URLS, string[]][] = [
  ['path', ['0a1B2c3D4e5F']],
  ['short path', ['k3']],
  ['query', ['so-very/hidden', 'so-very%2Fhidden', 'so-very%252Fhidden']],
  ['bare query', ['s3cr3t']],
  ['user info', ['us er', 'p@ss', 'us%20er', 'p%40ss', 'us er:p@ss']],
  ['short user info', ['a:b', 'b']],
]

describe('Secrets: parts of a URL that may be keys', () => {
  describe.each(QUOTES)('%s', (name, quotes) => {
    it.each(quotes)('finds %s in any encoding', (quote) => {
      const ways = [
        quote,
        `no access with ${quote}.`,
        `{"key":"${quote}"}`,
        quote.toUpperCase(),
        quote.toLowerCase(),
        encodeURIComponent(`"${quote}"`),
        base64(quote),
        `Basic ${base64(`user:${quote}`)}`,
        base64(`https://x/${quote}`).toLowerCase() === '' ? '' : base64(`see https://x/${quote} there`),
        encodeURIComponent(base64(`/${quote}/`)),
      ]
      for (const way of ways) expect([way, secrets[name]?.occurIn({ deep: [{ [way]: 1 }] })]).toEqual([way, true])
      for (const way of ways) expect([way, secrets[name]?.occurIn(['x', way])]).toEqual([way, true])
    })
  })

  it('finds the authorization header made from user info, in any case and without padding', () => {
    const header = base64('us er:p@ss')
    for (const shown of [header, header.toLowerCase(), header.replace(/=+$/, '')])
      expect(secrets['user info']?.occurIn(`authorization: Basic ${shown}`)).toBe(true)
  })

  it('finds no key in ordinary texts', () => {
    const words = [
      'execution reverted: not enough funds for gas',
      'header not found',
      'method eth_getBalance is rate limited, see https://example.org/v3/eth',
      { message: 'nonce too low', data: '0x08c379a0', list: [1, true, null] },
    ]
    for (const url of Object.values(URLS))
      if (!url.includes('a:b'))
        for (const text of words) expect([url, new Secrets(new URL(url)).occurIn(text)]).toEqual([url, false])
    expect(new Secrets(new URL('http://127.0.0.1:8545')).occurIn(words)).toBe(false)
  })

  it('finds a key in hex data only if it is long', () => {
    const data = `0x${'0123456789abcdef'.repeat(4)}`
    expect(new Secrets(new URL('http://node/abcdef')).occurIn(data)).toBe(false)
    expect(new Secrets(new URL('http://node/9abcdef01234567899')).occurIn(data)).toBe(false)
    expect(new Secrets(new URL('http://node/89abcdef01234567')).occurIn(data)).toBe(true)
  })

  it('searches deeply nested and long values', () => {
    let deep: unknown = 'k3'
    for (let n = 0; n < 100_000; n += 1) deep = [deep]
    expect(secrets['short path']?.occurIn(deep)).toBe(true)
    expect(secrets['short path']?.occurIn('ab'.repeat(5_000_000))).toBe(false)
    expect(secrets['short path']?.occurIn('%'.repeat(100_000))).toBe(false)
  })
})
