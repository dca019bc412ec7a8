/** WASI's errno for a missing file. */
const BAD_FILE = 8
const NOT_SUPPORTED = 52

/**
 * The parts of WASI (preview 1) that the module needs: random bytes for its hash tables, and output for the reason why it ends. It has no
 * files, arguments or environment, and never waits.
 * @param memory the instance's
 * @param said called with what the instance writes to standard output and error
 * @param now milliseconds, from any origin
 */
export function wasi(
  memory: { readonly buffer: ArrayBuffer },
  said: (text: string) => void,
  now: () => number,
): Record<string, unknown> {
  const view = () => new DataView(memory.buffer)
  return {
    random_get(at: number, length: number): number {
      // Limit of `getRandomValues`.
      for (let from = 0; from < length; from += 65_536)
        crypto.getRandomValues(new Uint8Array(memory.buffer, at + from, Math.min(65_536, length - from)))
      return 0
    },
    clock_time_get(_clock: number, _precision: bigint, at: number): number {
      view().setBigUint64(at, BigInt(Math.round(now() * 1e6)), true)
      return 0
    },
    fd_write(file: number, at: number, count: number, writtenAt: number): number {
      if (file !== 1 && file !== 2) return BAD_FILE
      let written = 0
      for (let index = 0; index < count; index++) {
        const [from, length] = [view().getUint32(at + 8 * index, true), view().getUint32(at + 8 * index + 4, true)]
        said(new TextDecoder().decode(new Uint8Array(memory.buffer, from, length)))
        written += length
      }
      view().setUint32(writtenAt, written, true)
      return 0
    },
    environ_sizes_get(countAt: number, bytesAt: number): number {
      view().setUint32(countAt, 0, true)
      view().setUint32(bytesAt, 0, true)
      return 0
    },
    environ_get: () => 0,
    poll_oneoff: () => NOT_SUPPORTED,
    proc_exit(code: number): never {
      throw new Error(`the engine ended with ${code}`)
    },
  }
}
