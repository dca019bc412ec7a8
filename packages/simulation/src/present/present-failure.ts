import { type Dialect, ErrorCode, type Hex, type SimulatedCall } from '@upfront/protocol'
import type { FailedCall } from '../engine/engine.js'
import { haltMessage } from './halt-message.js'
import { decodeRevertReason, revertMessage } from './revert-reason.js'

const REVERTED = 'execution reverted'
const GAS_CAPPED = " (gas limit was capped by the RPC server's global gas cap)"

/** Hex characters of a custom error's data shown in a message. The `ethereum` dialect's `data` has all of it. */
const SHOWN_DATA = 2 + 2 * 1024

/** The `error` of a failed call. */
export function presentFailure(call: FailedCall, dialect: Dialect): NonNullable<SimulatedCall['error']> {
  const { failure } = call
  if (failure.kind === 'halt') {
    const message = haltMessage(failure.halt) + (failure.isGasCapped ? GAS_CAPPED : '')
    return dialect === 'upfront' ? message : { code: ErrorCode.vmError, message }
  }
  if (dialect === 'upfront') return describeRevert(call.returnData)
  return { code: ErrorCode.reverted, message: gethMessage(call.returnData), data: call.returnData }
}

/** Such as `execution reverted: not the owner` or `execution reverted: custom error 0x3cc50b45`. */
function describeRevert(data: Hex): string {
  const reason = decodeRevertReason(data)
  switch (reason.kind) {
    case 'none':
      return REVERTED
    case 'error':
      return `${REVERTED}: ${reason.reason}`
    case 'panic':
      return `${REVERTED}: panic 0x${reason.code.toString(16).padStart(2, '0')} (${reason.meaning})`
    case 'custom':
      return `${REVERTED}: custom error ${reason.selector}${reason.data === '0x' ? '' : ` with data ${shorten(reason.data)}`}`
    case 'bytes':
      return `${REVERTED}: ${reason.data}`
  }
}

/** geth's message for a revert. */
export function gethMessage(data: Hex): string {
  const words = revertMessage(data)
  return words === undefined ? REVERTED : `${REVERTED}: ${words}`
}

function shorten(data: Hex): string {
  return data.length <= SHOWN_DATA ? data : `${data.slice(0, SHOWN_DATA)}… (${data.length / 2 - 1} bytes)`
}
