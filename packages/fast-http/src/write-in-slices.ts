import type { Writable } from 'node:stream'

/** Largest single write. */
const SLICE_BYTES = 256 * 1024

/** Yields the parts in order, those over 256 KiB in slices. */
export function* inSlices(parts: readonly (string | Buffer)[]): Generator<string | Buffer> {
  for (const part of parts) {
    if (part.length <= SLICE_BYTES) {
      yield part
      continue
    }
    // A string can't be cut at every byte.
    const bytes = typeof part === 'string' ? Buffer.from(part) : part
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES)
  }
}

/**
 * Writes parts in slices, each once the stream has room, so that neither the stream nor the event loop takes a long one at once.
 * @param stream the stream written to, or the one below it
 * @param write writes one slice; `isLast` for the last
 * @param onDone called once all is written and the stream has room again (synchronously, if it has room now), or once it is closed
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
    // Sends short parts together.
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
