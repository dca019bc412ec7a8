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
  let [index, at] = [0, 0]
  let waits = false
  const next = () => {
    const part = parts[index]!
    if (part.length <= SLICE_BYTES) {
      index += 1
      return part
    }
    // A string can't be cut anywhere.
    const bytes = typeof part === 'string' ? Buffer.from(part) : part
    if (bytes !== part) parts = parts.with(index, bytes)
    const slice = bytes.subarray(at, at + SLICE_BYTES)
    at += SLICE_BYTES
    if (at >= bytes.length) [index, at] = [index + 1, 0]
    return slice
  }
  const go = () => {
    if (waits) stream.off('drain', go).off('close', go)
    while (!stream.destroyed) {
      if (stream.writableNeedDrain) {
        waits = true
        stream.once('drain', go).once('close', go)
        return
      }
      if (index === parts.length) break
      const slice = next()
      write(slice, index === parts.length)
    }
    onDone()
  }
  go()
}
