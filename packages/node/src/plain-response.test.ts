import fc from 'fast-check'
import { PlainResponse, type Progress } from './plain-response.js'

interface Read {
  progress: Progress
  status?: number
  retryAfter?: string | undefined
  body: string
  keepsAlive: boolean
}

/** What is read of the text when it comes cut at these places. */
function read(text: string, cuts: readonly number[] = []): Read {
  const seen: { status?: number; retryAfter?: string | undefined; body: string } = { body: '' }
  const response = new PlainResponse({
    head: (status, retryAfter) => Object.assign(seen, { status, retryAfter }),
    data: (chunk) => {
      seen.body += chunk.toString('latin1')
    },
  })
  const bytes = Buffer.from(text, 'latin1')
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  let progress: Progress = 'more'
  for (const [index, from] of [0, ...places].entries()) {
    const part = bytes.subarray(from, places[index] ?? bytes.length)
    if (part.length > 0) progress = response.take(part)
    if (progress !== 'more') break
  }
  return { progress, ...seen, keepsAlive: response.keepsAlive }
}

const COUNTED = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\ncontent-length:  5 \r\n\r\nhello'
const CHUNKED =
  'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nTrailer: 1\r\n\r\n'

describe('PlainResponse', () => {
  it.each([
    ['of a known length', COUNTED, 200, undefined],
    ['in chunks', CHUNKED, 429, '3'],
  ])('reads a response %s, wherever it is cut', (_name, text, status, retryAfter) => {
    const whole = { progress: 'done', status, retryAfter, body: 'hello', keepsAlive: true }
    expect(read(text)).toEqual(whole)
    fc.assert(fc.property(fc.array(fc.nat()), (cuts) => expect(read(text, cuts)).toEqual(whole)))
    const everywhere = Array.from(text, (_, index) => index)
    expect(read(text, everywhere)).toEqual(whole)
  })

  it('reads what it was sent, in chunks of any size', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary-ascii', minLength: 1 })), fc.array(fc.nat()), (parts, cuts) => {
        const chunks = parts.map((part) => `${part.length.toString(16).toUpperCase()}\r\n${part}\r\n`).join('')
        const text = `HTTP/1.1 200 \r\ntransfer-encoding: Chunked\r\n\r\n${chunks}0\r\n\r\n`
        expect(read(text, cuts)).toMatchObject({ progress: 'done', body: parts.join(''), keepsAlive: true })
      }),
    )
  })

  it.each([
    ['says so', COUNTED.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')],
    ['goes on after its length', `${COUNTED}!`],
    ['goes on after its last chunk', `${CHUNKED}HTTP/1.1`],
  ])('does not keep the connection of a response that %s', (_name, text) => {
    expect(read(text)).toMatchObject({ progress: 'done', body: 'hello', keepsAlive: false })
  })

  it('takes a response without a body', () => {
    expect(read('HTTP/1.1 500 \r\nContent-Length: 0\r\n\r\n')).toMatchObject({
      progress: 'done',
      status: 500,
      body: '',
    })
  })

  it('waits for what is still to come', () => {
    for (const text of [COUNTED, CHUNKED]) expect(read(text.slice(0, -1)).progress).toBe('more')
  })

  it.each([
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['of no HTTP', 'hello\r\n\r\n'],
    ['that is only the first', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['without a body by its status', 'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n'],
    ['that ends with the connection', 'HTTP/1.1 200 OK\r\n\r\nhello'],
    ['with two lengths', COUNTED.replace('\r\n\r\n', '\r\nContent-Length: 5\r\n\r\n')],
    ['with a length and chunks', COUNTED.replace('\r\n\r\n', '\r\nTransfer-Encoding: chunked\r\n\r\n')],
    ['with a length that is no number', COUNTED.replace(' 5 ', '5, 5')],
    ['with a negative length', COUNTED.replace(' 5 ', '-5')],
    ['in another encoding', COUNTED.replace('\r\n\r\n', '\r\nContent-Encoding: gzip\r\n\r\n')],
    ['in more than chunks', CHUNKED.replace(': chunked', ': gzip, chunked')],
    ['that upgrades', COUNTED.replace('\r\n\r\n', '\r\nConnection: Upgrade\r\n\r\n')],
    ['with folded lines', COUNTED.replace('\r\ncontent', '\r\n content')],
    ['with lone line feeds', COUNTED.replace('\r\ncontent', '\ncontent')],
    ['with lone carriage returns', COUNTED.replace('OK', 'O\rK')],
    ['with a space after a name', COUNTED.replace('length:', 'length :')],
    ['with a head without end', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(5_000)}`],
  ])('leaves a response %s to others', (_name, text) => {
    const everywhere = Array.from(text.slice(0, 200), (_, index) => index)
    for (const cuts of [[], everywhere])
      expect(read(text, cuts)).toEqual({ progress: 'odd', body: '', keepsAlive: true })
  })

  it.each([
    ['a size that is none', '5x\r\nhello'],
    ['no size', '\r\nhello'],
    ['too large a size', '123456789\r\nhello'],
    ['a chunk longer than its size', '3\r\nhello\r\n0\r\n\r\n'],
    ['a size that ends without a carriage return', '5\nhello'],
    ['a size without end', '0'.repeat(300)],
    ['a trailer without end', `0\r\n${'x'.repeat(300)}`],
  ])('breaks off at %s', (_name, chunks) => {
    const text = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`
    expect(read(text).progress).toBe('broken')
  })
})
