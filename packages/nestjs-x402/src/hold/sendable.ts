import { validateHeaderName, validateHeaderValue } from 'node:http'

/** @throws TypeError like Node's if the chunk can't be written */
export function assertWritable(chunk: unknown): void {
  if (typeof chunk === 'string' || chunk instanceof Uint8Array) return
  throw new TypeError(`an answer is written as a string, a Buffer or a Uint8Array, not as a ${typeof chunk}`)
}

/** Flattens the headers of `writeHead` given as `[[name, value], …]` to `[name, value, …]`, which every Node version takes. */
export function normalizeHead(given: readonly unknown[]): unknown[] {
  return given.map((part) => (Array.isArray(part) && part.every((entry) => Array.isArray(entry)) ? part.flat() : part))
}

/**
 * Why Node would refuse this status line and these headers; undefined if they can be sent.
 * @param head result of {@link normalizeHead}
 */
export function findHeadFault([status, ...rest]: readonly unknown[]): string | undefined {
  if (typeof status !== 'number' || !(status >= 100 && status <= 999)) {
    return `a status is an integer from 100 to 999, not ${String(status)}`
  }
  try {
    for (const part of rest) {
      if (typeof part === 'string') validateHeaderValue('status message', part)
      else if (Array.isArray(part)) {
        if (part.length % 2 === 1) return 'a list of headers has a name without a value'
        for (let index = 0; index < part.length; index += 2) assertHeader(part[index], part[index + 1])
      } else if (typeof part === 'object' && part !== null) {
        for (const [name, value] of Object.entries(part)) assertHeader(name, value)
      }
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return undefined
}

function assertHeader(name: unknown, value: unknown): void {
  validateHeaderName(name as string)
  validateHeaderValue(name as string, value as string)
}
