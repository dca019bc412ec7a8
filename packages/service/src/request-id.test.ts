import type { IncomingMessage } from 'node:http'
import { requestId } from './request-id.js'

const idFor = (given?: string | string[]) =>
  requestId({ headers: { 'x-request-id': given } } as unknown as IncomingMessage)

describe('requestId', () => {
  it('keeps an id that is safe to log and to send back', () => {
    expect(idFor('trace-1.2_3:4')).toBe('trace-1.2_3:4')
  })

  it.each(['', 'a b', 'x\r\nset-cookie: 1', '"', 'ü', 'a'.repeat(65), ['a', 'b'], undefined])(
    'replaces %j with a generated id',
    (given) => {
      const id = idFor(given)
      expect(id).not.toBe(given)
      expect(id).toMatch(/^[A-Za-z0-9_-]+$/)
    },
  )

  it('generates a different id for each request', () => {
    expect(idFor()).not.toBe(idFor())
  })
})
