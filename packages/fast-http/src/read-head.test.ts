import { readPlainHead } from './read-head.js'

const head = (...lines: string[]) => `POST / HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`
const PLAIN = ['Host: a', 'Content-Type: application/json', 'Content-Length: 12']
const but = (line: string, ...more: string[]) => {
  const name = line.split(':')[0]!.toLowerCase()
  return head(...PLAIN.filter((other) => !other.toLowerCase().startsWith(`${name}:`)), line, ...more)
}

describe('readPlainHead', () => {
  it('reads the length, request id and connection header of a plain request', () => {
    expect(readPlainHead(head(...PLAIN))).toEqual({ contentLength: 12, requestId: undefined, close: false })
    const more = ['Connection:keep-alive', 'X-Request-Id:  7 ', 'Accept: */*', 'Cookie: a', 'Cookie: b', 'Empty:']
    expect(readPlainHead(head(...PLAIN, ...more))).toEqual({ contentLength: 12, requestId: '7', close: false })
    expect(readPlainHead(head(...PLAIN, 'connection: Close'))).toMatchObject({ close: true })
    expect(readPlainHead(but('content-type: Application/JSON; charset=UTF-8'))).toBeDefined()
  })

  it.each([
    ['another method', head(...PLAIN).replace('POST', 'PUT')],
    ['another path', head(...PLAIN).replace(' / ', ' /? ')],
    ['an older version', head(...PLAIN).replace('1.1', '1.0')],
    ['lines that end otherwise', head(...PLAIN).replace('Host: a\r\n', 'Host: a\n')],
    ['no host', head(...PLAIN.slice(1))],
    ['two hosts', head(...PLAIN, 'Host: b')],
    ['no length', head(...PLAIN.slice(0, 2))],
    ['two lengths', head(...PLAIN, 'content-length: 12')],
    ['a length of nothing', but('Content-Length: 0')],
    ['a signed length', but('Content-Length: +12')],
    ['lengths in a list', but('Content-Length: 12, 12')],
    ['a length too long', but('Content-Length: 1000000000000')],
    ['a length in other digits', but('Content-Length: 0x12')],
    ['chunks', head(...PLAIN, 'Transfer-Encoding: chunked')],
    ['a name with a space', but('Content-Length : 12')],
    ['no name', head(...PLAIN, ': a')],
    ['no colon', head(...PLAIN, 'a')],
    ['a line that goes on', head(...PLAIN, 'Accept: a', ' b')],
    ['a control character', head(...PLAIN, 'Accept: a\0')],
    ['a carriage return', head(...PLAIN, 'Accept: a\rb')],
    ['what is not ASCII', head(...PLAIN, 'Accept: ä')],
    ['another content', but('Content-Type: text/plain')],
    ['a tab after a length', but('Content-Length: 12\t')],
    ['a tab', head(...PLAIN, 'Accept: a\tb')],
    ['what llhttp reads as connection', head(...PLAIN, 'Proxy-Connection: close')],
    ['a packed body', head(...PLAIN, 'Content-Encoding: gzip')],
    ['a client that waits to be asked on', head(...PLAIN, 'Expect: 100-continue')],
    ['a browser', head(...PLAIN, 'Origin: https://wallet.example')],
    ['another protocol', head(...PLAIN, 'Connection: upgrade', 'Upgrade: websocket')],
    ['more headers than anyone sends', head(...PLAIN, ...Array(70).fill('a: b'))],
  ])("leaves %s to Node's parser", (_, text) => {
    expect(readPlainHead(text)).toBeUndefined()
  })
})
