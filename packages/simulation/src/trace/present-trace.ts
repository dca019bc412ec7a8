import type { Tracer } from '@upfront/protocol'
import type { CallRecord, Recording } from '../engine/call-record.js'
import { callTrace } from './call-tracer.js'
import { fourByteTrace } from './four-byte-tracer.js'
import { prestate } from './prestate-tracer.js'

/** What an engine has to write down for a tracer. */
export function recordingFor({ name }: Tracer): Recording {
  return name === 'prestateTracer' ? { frames: false, state: true } : { frames: true, state: false }
}

/** What a tracer says of a call. @param firstLog index of the call's first log */
export function presentTrace(record: CallRecord, tracer: Tracer, firstLog = 0): unknown {
  switch (tracer.name) {
    case 'callTracer':
      return callTrace(record, tracer.config, firstLog)
    case 'prestateTracer':
      return prestate(record, tracer.config)
    case '4byteTracer':
      return fourByteTrace(record)
  }
}
