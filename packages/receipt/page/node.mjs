// What checking a bill takes of Node, for a page: a bundler puts this in place of Node's modules (see vite.mjs).
import { bytesToHex, hexToBytes, sha256 } from 'viem'

const encoder = new TextEncoder()

/** The part of Node's Buffer that is used. */
class PageBuffer extends Uint8Array {
  static from(value, encoding) {
    if (typeof value !== 'string') return new PageBuffer(value)
    if (encoding !== 'hex') return new PageBuffer(encoder.encode(value))
    // As Node's: up to what is no pair of digits.
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

/** Of SHA-256 alone. */
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

/** As those of `node:timers/promises`. */
export const setImmediate = () => setTimeout(0)
export const setTimeout = (ms) => new Promise((resolve) => globalThis.setTimeout(resolve, ms))

export function channel() {
  return { hasSubscribers: false, publish() {} }
}

/** Of a file that the bundler put beside the page or wrote into it, read as a worker may: before it answers. */
export function readFileSync({ href }) {
  const request = new XMLHttpRequest()
  request.open('GET', href, false)
  request.send()
  if (request.status !== 200) throw new Error(`${href}: ${request.status}`)
  return request.responseText
}
