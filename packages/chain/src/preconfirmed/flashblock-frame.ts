import { promisify } from 'node:util'
import { brotliDecompress, constants } from 'node:zlib'
import { type Flashblock, FlashblockError, flashblockFromJson } from './flashblock.js'

const decompress = promisify(brotliDecompress)
const OPENING_BRACE = 0x7b

/**
 * Decodes one WebSocket frame: JSON where it starts with `{`, else brotli over JSON.
 * @param maxBytes bound on the JSON text, so that a small frame can't unfold into gigabytes
 * @throws FlashblockError
 */
export async function decodeFrame(frame: Uint8Array, maxBytes: number): Promise<Flashblock> {
  if (frame[0] === OPENING_BRACE) {
    if (frame.byteLength > maxBytes) throw new FlashblockError(`message over ${maxBytes} bytes`)
    return flashblockFromJson(Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString('utf8'))
  }
  const text = await decompress(frame, {
    maxOutputLength: maxBytes,
    params: { [constants.BROTLI_DECODER_PARAM_LARGE_WINDOW]: 0 },
  }).catch((error: NodeJS.ErrnoException) => {
    throw new FlashblockError(
      error.code === 'ERR_BUFFER_TOO_LARGE' ? `message over ${maxBytes} bytes` : 'neither JSON nor brotli',
    )
  })
  return flashblockFromJson(text.toString('utf8'))
}
