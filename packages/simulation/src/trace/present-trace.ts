import type { Tracer } from '@upfront/protocol'
import type { CallRecord } from '../engine/call-record.js'
import type { Recording } from '../plan/recording.js'
import { callTrace } from './call-tracer.js'
import { erc7562Trace } from './erc7562-tracer.js'
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
      return { frames: true, state: false, uses: true }
    default:
      return { frames: true, state: false }
  }
}

/** A tracer's output for a call. Struct logs are written by `structLogJson`. @param firstLog index of the call's first log */
export function presentTrace(
  record: CallRecord,
  tracer: Exclude<Tracer, { name: 'structLogger' }>,
  firstLog = 0,
): unknown {
  switch (tracer.name) {
    case 'callTracer':
      return callTrace(record, tracer.config, firstLog)
    case 'prestateTracer':
      return prestate(record, tracer.config)
    case '4byteTracer':
      return fourByteTrace(record)
    case 'erc7562Tracer':
      return erc7562Trace(record, tracer.config, firstLog)
  }
}
