import type { Address, Hex } from '@upfront/protocol'
import type { Decoded, DecodedFrame } from '@upfront/simulation'

/** The frame that caused a call to fail: the innermost one whose failure was passed on by all its callers. */
export interface FailingFrame {
  /** 0 is the call itself. */
  depth: number
  /** `CALL`, `DELEGATECALL`, `CREATE` and so on. */
  type: string
  from: Address
  /** Address of the failed code; null for a failed creation. */
  to: Address | null
  /** First four bytes of the input; null if it is shorter, or for a creation. */
  selector: Hex | null
  error: string
  /** Decoded; null if there is none. */
  revertReason: string | null
}

/** A custom error in words, if its signature is well known. */
export function customError(error: Decoded | undefined): string | undefined {
  return error?.from === undefined ? undefined : error.meaning
}

/** Limit for reasons: they are text chosen by the contract. */
const MAX_CHARACTERS = 1_000

/** @param top frame from the callTracer @returns null if the call did not fail */
export function failingFrame(top: DecodedFrame): FailingFrame | null {
  if (top.error === undefined) return null
  let frame = top
  let depth = 0
  for (;;) {
    const last = frame.calls?.at(-1)
    if (last?.error === undefined || last.output !== frame.output) break
    frame = last
    depth += 1
  }
  const { type, from, to, input, error, revertReason } = frame
  const hasSelector = input.length >= 10 && !type.startsWith('CREATE')
  return {
    depth,
    type,
    from,
    to: to ?? null,
    selector: hasSelector ? (input.slice(0, 10) as Hex) : null,
    error: error!.slice(0, MAX_CHARACTERS),
    revertReason: (customError(frame.decoded?.error) ?? revertReason)?.slice(0, MAX_CHARACTERS) ?? null,
  }
}
