import { Socket } from 'node:net'

/** Read into by all connections: what comes is copied before the next one reads. */
const READ_BUFFER = Buffer.allocUnsafeSlow(65_536)

interface Handle {
  useUserBuffer?(buffer: Uint8Array): void
}

/**
 * Has all that comes in on an accepted connection handed to `take`, as `onread` does for one that is made. Node offers that
 * for those alone; else it makes 64 KiB of memory for each read, a fifteenth of a small request's CPU. So what `onread` sets is
 * set here, where it is found. False where it isn't: then `data` tells, as ever.
 * @param take false: no more for now; as `push` says it
 */
export function readInto(socket: Socket, take: (bytes: Buffer) => boolean): boolean {
  const { _handle: handle } = socket as { _handle?: Handle }
  if (PLACES === undefined || handle?.useUserBuffer === undefined) return false
  Object.assign(socket, {
    [PLACES.buffer]: READ_BUFFER,
    [PLACES.callback]: (length: number) => {
      const bytes = Buffer.allocUnsafe(length)
      READ_BUFFER.copy(bytes, 0, 0, length)
      return take(bytes)
    },
  })
  handle.useUserBuffer(READ_BUFFER)
  socket.resume()
  return true
}

/** Where a socket keeps what it was given as `onread`. */
const PLACES = findPlaces()

function findPlaces(): { buffer: symbol; callback: symbol } | undefined {
  const callback = () => true
  const socket = new Socket({ onread: { buffer: READ_BUFFER, callback } } as object)
  const values = socket as unknown as Record<symbol, unknown>
  const places = Object.getOwnPropertySymbols(socket)
  const [bufferAt, callbackAt] = [READ_BUFFER, callback].map((value) => places.find((place) => values[place] === value))
  return bufferAt === undefined || callbackAt === undefined ? undefined : { buffer: bufferAt, callback: callbackAt }
}
