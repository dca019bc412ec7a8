import { textInParts } from './text-in-parts.js'

describe('textInParts', () => {
  it.each([
    ['a character', Buffer.from('aé€😀'.repeat(20))],
    ['what is no UTF-8', Buffer.from([0x22, 0xc3, 0x28, 0x61, 0x22])],
    ['a byte order mark', Buffer.from('\ufeff{}')],
  ])('gives what toString gives, wherever it cuts %s', (_, bytes) => {
    for (let partBytes = 1; partBytes < 12; partBytes += 1) {
      const parts = textInParts(bytes, partBytes)
      let part = parts.next()
      while (!part.done) part = parts.next()
      expect(part.value).toBe(bytes.toString())
    }
  })
})
