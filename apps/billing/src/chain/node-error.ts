import type { Hex } from '@upfront/protocol'

/** The node did not answer or can't answer now (429, 5xx, time-out, rate limit). The result is unknown. */
export class NodeFault extends Error {
  override readonly name: string = 'NodeFault'
}

/** The node serves another chain than configured. Its answers are not used. */
export class WrongChain extends NodeFault {
  override readonly name = 'WrongChain'
  constructor(readonly found: number) {
    super(`its node serves chain ${found}`)
  }
}

/** Too many calls wait for the node. This one was not sent. */
export class NodeBusy extends NodeFault {
  override readonly name = 'NodeBusy'
  constructor() {
    super("too many calls wait for the chain's node")
  }
}

/** The node understood the request and refused it. */
export class NodeRefusal extends Error {
  override readonly name: string = 'NodeRefusal'
  constructor(
    message: string,
    readonly code: number,
  ) {
    super(message)
  }
}

/** The call or the estimated transaction reverted. */
export class Revert extends NodeRefusal {
  override readonly name = 'Revert'
  constructor(
    message: string,
    code: number,
    readonly data: Hex,
  ) {
    super(message, code)
  }
}

/** Whether the call or the estimated transaction ran out of its gas limit, or burned all of it (invalid opcode). */
export function isOutOfGas({ message }: NodeRefusal): boolean {
  return /out of gas|invalid opcode|gas required exceeds/i.test(message)
}

const METHOD_NOT_FOUND = -32601

/** Whether a node refused a request because the result is too large. Wordings differ, and some nodes use the code of a rate limit. */
export function isTooMuch(error: unknown): boolean {
  if (error instanceof NodeRefusal) return error.code !== METHOD_NOT_FOUND
  return error instanceof NodeFault && /results|block range|response size|too large|more than \d+/i.test(error.message)
}

/** EIP-1474's "limit exceeded", and the rate limits of QuickNode and Alchemy. */
const RATE_LIMIT_CODES = new Set([-32005, -32007, -32097, 429])

/** Classifies the `error` of a JSON-RPC answer. */
export function readNodeError(error: unknown, method: string): NodeFault | NodeRefusal {
  const { code, message: text, data } = (error ?? {}) as { code?: unknown; message?: unknown; data?: unknown }
  const message = typeof text === 'string' ? (text.split('\n', 1)[0]?.slice(0, 300) ?? '') : ''
  const number = typeof code === 'number' ? code : 0
  if (number === 3 || /execution reverted|revert/i.test(message)) {
    return new Revert(message, number, typeof data === 'string' && data.startsWith('0x') ? (data as Hex) : '0x')
  }
  if (RATE_LIMIT_CODES.has(number) || /rate limit|too many|header not found|overloaded/i.test(message)) {
    return new NodeFault(`${method}: ${message}`)
  }
  return new NodeRefusal(message, number)
}
