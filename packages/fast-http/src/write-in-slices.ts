import type { Writable } from 'node:stream'

/** Of one write. */
const SLICE_BYTES = 256 * 1024

/**
 * Writes parts one after another, the next once the stream has room: longer ones in slices of at most 256 KiB, so that neither the stream
 * nor the event loop has a long one to take at once.
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
  const slices = slicesOf(parts)
  let next = slices.next()
  const go = () => {
    stream.off('drain', go).off('close', go)
    while (!stream.destroyed) {
      if (stream.writableNeedDrain) {
        stream.once('drain', go).once('close', go)
        return
      }
      if (next.done) break
      const slice = next.value
      next = slices.next()
      write(slice, next.done === true)
    }
    onDone()
  }
  go()
}

function* slicesOf(parts: readonly (string | Buffer)[]): Generator<string | Buffer, void> {
  for (const part of parts) {
    if (part.length <= SLICE_BYTES) yield part
    else {
      // A string can't be cut anywhere.
      const bytes = typeof part === 'string' ? Buffer.from(part) : part
      for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES)
    }
  }
}
