import type { ShownTracer, Tracer } from '@upfront/protocol'
import { keccak256 } from 'viem'
import type { CallRecord } from '../engine/call-record.js'
import type { Recording } from '../plan/recording.js'
import { callTrace } from './call-tracer.js'
import { erc7562Trace } from './erc7562-tracer.js'
import { flatCallTrace, type TracedAt } from './flat-call-tracer.js'
import { fourByteTrace } from './four-byte-tracer.js'
import { prestate } from './prestate-tracer.js'
import { stepOptionsOf } from './struct-logger.js'

/** What an engine has to record for a tracer. */
export function recordingFor(tracer: Tracer): Recording {
  switch (tracer.name) {
    case 'prestateTracer':
      return { frames: false, state: true }
    case 'structLogger':
      return { frames: true, state: false, steps: stepOptionsOf(tracer.config) }
    case 'erc7562Tracer':
    case 'keccak256PreimageTracer':
      return { frames: true, state: false, uses: true }
    case 'muxTracer': {
      const wanted = tracer.tracers.map(recordingFor)
      const uses = wanted.some((each) => each.uses)
      return { frames: true, state: wanted.some(({ state }) => state), ...(uses && { uses }) }
    }
    default:
      return { frames: true, state: false }
  }
}

/**
 * A tracer's output for a call. Struct logs are written by `structLogJson`.
 * @param firstLog index of the call's first log
 * @param at the transaction that the call is
 */
export function presentTrace(record: CallRecord, tracer: ShownTracer, firstLog = 0, at?: TracedAt): unknown {
  switch (tracer.name) {
    case 'callTracer':
      return callTrace(record, tracer.config, firstLog)
    case 'prestateTracer':
      return prestate(record, tracer.config)
    case '4byteTracer':
      return fourByteTrace(record)
    case 'erc7562Tracer':
      return erc7562Trace(record, tracer.config, firstLog)
    case 'flatCallTracer':
      return flatCallTrace(record, tracer.config, at)
    case 'keccak256PreimageTracer':
      return Object.fromEntries(record.preimages.map((preimage) => [keccak256(preimage), preimage]))
    case 'noopTracer':
      return {}
    case 'muxTracer':
      return Object.fromEntries(tracer.tracers.map((each) => [each.name, presentTrace(record, each, firstLog, at)]))
  }
}
