import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { HeldResponse } from './held-response.js'

let server: Server
let serve: (response: ServerResponse) => void
let url: string

beforeAll(async () => {
  server = createServer((_request, response) => serve(response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

interface Exchange {
  response: ServerResponse
  held: HeldResponse
  answer: Promise<Response>
}

/** A request whose response is held; `write` is its writer. */
async function hold(
  write: (response: ServerResponse) => void,
  { holdBytes = 100, before = (_response: ServerResponse): void => undefined } = {},
): Promise<Exchange> {
  return new Promise((resolve) => {
    const answer = fetch(url)
    serve = (response) => {
      before(response)
      const held = new HeldResponse(response, holdBytes, response.getHeaders())
      write(response)
      resolve({ response, held, answer })
    }
  })
}

describe('a released answer', () => {
  it('is sent as written, and looks sent to its writer before that', async () => {
    const { response, held, answer } = await hold((raw) => {
      raw.statusCode = 201
      raw.setHeader('X-Set', 'set')
      expect(raw.write('ä', 'latin1')).toBe(true)
      expect([raw.headersSent, raw.writableEnded]).toEqual([true, false])
      raw.end(Buffer.from('!'))
    })
    expect(await held.end).toBe('ended')
    expect([response.headersSent, response.writableEnded, held.ended]).toEqual([true, true, true])
    held.release({ 'X-Charge': '5' })
    const got = await answer
    expect([got.status, got.headers.get('x-set'), got.headers.get('x-charge')]).toEqual([201, 'set', '5'])
    expect(Buffer.from(await got.arrayBuffer())).toEqual(Buffer.from([0xe4, 0x21]))
  })

  it('is sent in slices of 256 KiB if it is long', async () => {
    const long = 'ä'.repeat(500_000)
    const writes: number[] = []
    const before = (raw: ServerResponse) => {
      const { write } = raw
      raw.write = (...given: unknown[]) => {
        writes.push((given[0] as Buffer).length)
        return Reflect.apply(write, raw, given)
      }
    }
    const { held, answer } = await hold((raw) => raw.end(long), { before })
    await held.end
    expect(held.release({})?.body.length).toBe(1_000_000)
    const got = await answer
    expect(got.headers.get('content-length')).toBe('1000000')
    expect(await got.text()).toBe(long)
    expect(writes).toEqual([262_144, 262_144, 262_144, 213_568])
  })

  it.each<[string, unknown[]]>([
    ['an object', [200, { 'X-Own': 'own', 'x-charge': 'forged' }]],
    ['a list', [200, 'Fine', ['X-Own', 'own', 'X-CHARGE', 'forged']]],
    [
      'pairs',
      [
        200,
        [
          ['X-Own', 'own'],
          ['X-Charge', 'forged'],
        ],
      ],
    ],
  ])('keeps headers given to writeHead as %s, except replaced ones', async (_what, head) => {
    const { held, answer } = await hold((raw) => {
      Reflect.apply(raw.writeHead, raw, head)
      raw.end()
    })
    held.release({ 'X-Charge': '5' })
    const { headers } = await answer
    expect([headers.get('x-own'), headers.get('x-charge')]).toEqual(['own', '5'])
  })

  it('takeHeader removes a header, whether set by setHeader or writeHead', async () => {
    const { held, answer } = await hold((raw) => {
      raw.setHeader('Secret', 'set')
      raw.writeHead(200, { SECRET: 'given' })
      raw.end('x')
    })
    expect(held.getHeader('secret')).toBe('given')
    expect(held.takeHeader('secret')).toBe('given')
    held.release({})
    expect((await answer).headers.get('secret')).toBeNull()
  })

  it('keeps the bytes of a buffer that is changed after the write', async () => {
    const { held, answer } = await hold((raw) => {
      const buffer = Buffer.from('first')
      raw.write(buffer)
      buffer.fill('x')
      raw.end()
    })
    held.release({})
    expect(await (await answer).text()).toBe('first')
  })

  it('calls back a write immediately, and the end once it is sent', async () => {
    const called: string[] = []
    const { held, answer } = await hold((raw) => {
      raw.write('a', () => called.push('write'))
      raw.end(() => called.push('end'))
    })
    await new Promise(setImmediate)
    expect(called).toEqual(['write'])
    held.release({})
    await (await answer).text()
    expect(called).toEqual(['write', 'end'])
  })

  it('restores the methods that a middleware had replaced before', async () => {
    const seen: string[] = []
    const { held, answer, response } = await hold((raw) => raw.end('body'), {
      before(raw) {
        const end = raw.end
        raw.end = ((...given: unknown[]) => {
          seen.push('end')
          return Reflect.apply(end, raw, given)
        }) as typeof raw.end
      },
    })
    expect(seen).toEqual([])
    held.release({})
    expect(await (await answer).text()).toBe('body')
    expect(seen).toEqual(['end'])
    expect(Object.hasOwn(response, 'write')).toBe(false)
  })

  it('is full beyond holdBytes, makes its writer wait, and then streams', async () => {
    let written = 0
    const source = Readable.from(
      (async function* () {
        for (; written < 50; written++) yield Buffer.alloc(30, 'x')
      })(),
    )
    let piped: Promise<void> | undefined
    const { held, answer } = await hold((raw) => {
      piped = pipeline(source, raw)
    })
    expect(await held.end).toBe('full')
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(written).toBeLessThan(50)
    held.release({})
    expect((await (await answer).text()).length).toBe(1_500)
    await piped
  })

  it('is full before its first byte if holdBytes is 0', async () => {
    const { held, answer, response } = await hold((raw) => raw.flushHeaders(), { holdBytes: 0 })
    expect(await held.end).toBe('full')
    held.release({ 'X-Charge': '5' })
    expect((await answer).headers.get('x-charge')).toBe('5')
    response.end('later')
    expect(await (await answer).text()).toBe('later')
  })

  it('breaks off after the bytes that its writer sent before it broke off', async () => {
    const { held, answer } = await hold((raw) => {
      raw.write('part')
      raw.destroy()
    })
    expect(await held.end).toBe('cut')
    held.release({})
    const reader = ((await answer).body as ReadableStream<Uint8Array>).getReader()
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('part')
    await expect(reader.read()).rejects.toThrow()
  })
})

describe('a replaced answer', () => {
  it('keeps headers set before the handler, but none of the handler', async () => {
    const { held, answer, response } = await hold(
      (raw) => {
        raw.setHeader('X-Handler', 'yes')
        raw.writeHead(200, { 'Content-Length': '7' })
        raw.end('handler')
      },
      { before: (raw) => raw.setHeader('X-Before', 'yes') },
    )
    held.replace({ status: 402, headers: { 'Content-Type': 'text/plain' }, body: Buffer.from('pay') })
    const got = await answer
    expect([got.status, await got.text()]).toEqual([402, 'pay'])
    expect([got.headers.get('x-before'), got.headers.get('x-handler')]).toEqual(['yes', null])
    expect([response.headersSent, response.writableEnded]).toEqual([true, true])
  })

  it('ignores what its writer does afterwards, and calls its callbacks', async () => {
    const { held, answer, response } = await hold(() => undefined)
    held.replace({ status: 504, headers: {}, body: Buffer.from('too late') })
    const called: string[] = []
    response.setHeader('X-Late', 'yes')
    response.writeHead(200)
    expect(response.write('late', () => called.push('write'))).toBe(true)
    response.end('late', () => called.push('end'))
    response.destroy()
    const got = await answer
    expect([got.status, await got.text(), got.headers.get('x-late')]).toEqual([504, 'too late', null])
    expect(called).toEqual(['write', 'end'])
  })
})

describe('while an answer is held', () => {
  it('no informational response is sent', async () => {
    const { held, answer } = await hold((raw) => {
      raw.writeProcessing()
      raw.writeEarlyHints({ link: '</secret>; rel=preload' })
      raw.end('x')
    })
    held.release({})
    expect((await answer).status).toBe(200)
  })

  it('writes after its end are ignored', async () => {
    const { held, answer } = await hold((raw) => {
      raw.end('all')
      expect(raw.write('more')).toBe(false)
      raw.end('more')
    })
    held.release({})
    expect(await (await answer).text()).toBe('all')
  })

  it.each([5, null, {}])('write throws on a chunk that Node would refuse: %p', async (chunk) => {
    const { held, answer } = await hold((raw) => {
      expect(() => raw.write(chunk as never)).toThrow(TypeError)
      raw.end('x')
    })
    held.release({})
    await answer
  })

  it.each<[string, (raw: ServerResponse) => unknown]>([
    ['a status', (raw) => Object.assign(raw, { statusCode: 99 })],
    ['a list of headers', (raw) => raw.writeHead(200, ['X-Odd'])],
    ['a status given', (raw) => raw.writeHead(1000)],
    ['a header', (raw) => raw.writeHead(200, { 'X-Odd': 'a\nb' })],
    ['a header of a list', (raw) => raw.writeHead(200, ['X-Odd', 'a\r\nSet-Cookie: x'])],
    ['the name of a header', (raw) => raw.writeHead(200, [['X Odd', 'a']] as never)],
    ['a status message', (raw) => raw.writeHead(200, 'a\nb')],
  ])('fault is set if Node would refuse to send it: %s', async (_what, write) => {
    const { held, answer } = await hold((raw) => {
      write(raw)
      raw.end()
    })
    expect(held.fault).toEqual(expect.any(String))
    expect(held.status).toBe(500)
    held.replace({ status: 500, headers: {}, body: Buffer.alloc(0) })
    expect((await answer).status).toBe(500)
  })

  it('fault is undefined if Node can send it', async () => {
    const { held, answer } = await hold((raw) => raw.writeHead(204, 'Fine', { 'Set-Cookie': ['a=1', 'b=2'] }).end())
    expect([held.fault, held.status]).toEqual([undefined, 204])
    held.release({})
    expect((await answer).headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  })
})
