// What the checker takes of `node:crypto`, on a page.
import { type Hex, sha256, stringToBytes } from 'viem'

/** Only SHA-256 is asked for. */
export function createHash(name: string) {
  if (name !== 'sha256') throw new Error(`${name} is not there on a page`)
  let text = ''
  const hash = {
    update(more: string) {
      text += more
      return hash
    },
    digest: (_: 'hex') => sha256(stringToBytes(text)).slice(2),
  }
  return hash
}

/** Bytes that write themselves as hex. */
export function randomBytes(length: number): { toString(encoding: 'hex'): string } {
  const bytes = crypto.getRandomValues(new Uint8Array(length))
  return { toString: () => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('') }
}

/** From `least` on, below `most`, which is at most 2^48 above it. */
export function randomInt(least: number, most: number): number {
  const bytes: Hex = `0x${randomBytes(7).toString('hex')}`
  return least + Number(BigInt(bytes) % BigInt(most - least))
}
