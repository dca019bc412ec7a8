import type { Writable } from 'node:stream'

/** Of one write. */
const SLICE_BYTES = 256 * 1024

/** Parts one after another, longer ones in slices of at most 256 KiB. */
export function* inSlices(parts: readonly (string | Buffer)[]): Generator<string | Buffer> {
  for (const part of parts) {
    if (part.length <= SLICE_BYTES) {
      yield part
      continue
    }
    // A string can't be cut anywhere.
    const bytes = typeof part === 'string' ? Buffer.from(part) : part
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES)
  }
}

/**
 * Writes parts in slices, the next once the stream has room, so that neither the stream nor the event loop has a long one to take at once.
 * @param stream what is written to, or what stands below it
 * @param write is given each slice, and whether it is the last
 * @param onDone called once all is written and the stream has room again, before this returns where it has; or once it is closed
 */
export function writeInSlices(
  stream: Writable,
  parts: readonly (string | Buffer)[],
  write: (slice: string | Buffer, isLast: boolean) => void,
  onDone: () => void,
): void {
  const slices = inSlices(parts)
  let slice = slices.next()
  let waits = false
  const go = () => {
    if (waits) stream.off('drain', go).off('close', go)
    // Short parts leave together.
    if (parts.length > 1) stream.cork()
    while (!slice.done && !stream.destroyed && !stream.writableNeedDrain) {
      const { value } = slice
      slice = slices.next()
      write(value, slice.done === true)
    }
    if (parts.length > 1) stream.uncork()
    waits = stream.writableNeedDrain && !stream.destroyed
    if (waits) stream.once('drain', go).once('close', go)
    else onDone()
  }
  go()
}
