import type { Parts } from '@upfront/protocol'
import type { FailedToken } from '../assets/failed-token.js'
import type { AbiDecoder } from '../decode/abi-decoder.js'
import type { Decoded } from '../decode/abi-values.js'
import { formatInTokenUnits } from '../decode/error-message.js'
import type { CallFrame, CallLog } from './call-tracer.js'

/** A callTracer frame with its decoded call and error. */
export interface DecodedFrame extends CallFrame {
  decoded?: { call?: Decoded; error?: Decoded }
  calls?: DecodedFrame[]
  logs?: (CallLog & { decoded?: Decoded })[]
}

/**
 * Adds decoded calls, errors and logs to frames, in place.
 * @param token the failed token of the call, for its error
 * @throws RpcError -32005 if the decoder's budget is exceeded
 */
export function* decodeFrames(top: DecodedFrame, decoder: AbiDecoder, token: FailedToken | undefined): Parts {
  const open = [top]
  for (let frame = open.pop(); frame !== undefined; frame = open.pop()) {
    const call = frame.type.startsWith('CREATE') ? undefined : yield* decoder.call(frame.input)
    const error =
      frame.error === undefined || frame.output === undefined ? undefined : yield* decoder.error(frame.output)
    if (call !== undefined || error !== undefined)
      frame.decoded = {
        ...(call && { call }),
        ...(error && { error: frame.output === token?.error ? formatInTokenUnits(error, token) : error }),
      }
    for (const log of frame.logs ?? []) {
      const decoded = yield* decoder.log(log.topics, log.data)
      if (decoded !== undefined) log.decoded = decoded
    }
    open.push(...(frame.calls ?? []))
  }
}
