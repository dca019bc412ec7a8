// The parts of Node that checking a bill needs, for web pages: a bundler replaces Node's modules by this file (see vite.mjs).
import { bytesToHex, hexToBytes, sha256 } from 'viem'

const encoder = new TextEncoder()

/** The used part of Node's Buffer. */
class PageBuffer extends Uint8Array {
  static from(value, encoding) {
    if (typeof value !== 'string') return new PageBuffer(value)
    if (encoding !== 'hex') return new PageBuffer(encoder.encode(value))
    // Like Node, stops at the first pair that is not hex.
    const [digits] = /^([0-9a-f]{2})*/i.exec(value)
    return new PageBuffer(hexToBytes(`0x${digits}`))
  }

  static alloc(length) {
    return new PageBuffer(length)
  }

  static byteLength(text) {
    return encoder.encode(text).length
  }

  static concat(parts) {
    const whole = new PageBuffer(parts.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const part of parts) {
      whole.set(part, at)
      at += part.length
    }
    return whole
  }

  toString(encoding) {
    return encoding === 'hex' ? bytesToHex(this).slice(2) : new TextDecoder().decode(this)
  }
}
globalThis.Buffer ??= PageBuffer

/** Only SHA-256. */
export function createHash(algorithm) {
  if (algorithm !== 'sha256') throw new Error(`no ${algorithm} on a page`)
  let text = ''
  return {
    update(more) {
      text += more
      return this
    },
    digest: () => sha256(encoder.encode(text)).slice(2),
  }
}

export function randomBytes(length) {
  return PageBuffer.from(crypto.getRandomValues(new Uint8Array(length)))
}

export function randomInt(least, most) {
  return least + (Number(BigInt(`0x${randomBytes(6).toString('hex')}`)) % (most - least))
}

/** Like those of `node:timers/promises`. */
export const setImmediate = () => setTimeout(0)
export const setTimeout = (ms) => new Promise((resolve) => globalThis.setTimeout(resolve, ms))

export function channel() {
  return { hasSubscribers: false, publish() {} }
}

/** Reads a file bundled with the page, synchronously: workers may do so. */
export function readFileSync({ href }) {
  const request = new XMLHttpRequest()
  request.open('GET', href, false)
  request.send()
  if (request.status !== 200) throw new Error(`${href}: ${request.status}`)
  return request.responseText
}
