import type { Address, Hex } from '@upfront/protocol'
import type { Decoded, DecodedFrame } from '@upfront/simulation'

/** The frame in which a call failed: the innermost one whose failure its callers passed on. */
export interface FailingFrame {
  /** 0: the call itself. */
  depth: number
  /** `CALL`, `DELEGATECALL`, `CREATE` and so on. */
  type: string
  from: Address
  /** Whose code failed; null where a creation failed. */
  to: Address | null
  /** The first four bytes of its input; null where it has fewer, and for a creation. */
  selector: Hex | null
  error: string
  /** Decoded; null where it gave none. */
  revertReason: string | null
}

/** An error of a contract in words, where everybody knows it. */
export function customError(error: Decoded | undefined): string | undefined {
  return error?.from === undefined ? undefined : error.meaning
}

/** A reason is a contract's own words. */
const MOST_CHARACTERS = 1_000

/** @param top as the callTracer has it @returns null where the call did not fail */
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
    error: error!.slice(0, MOST_CHARACTERS),
    revertReason: (customError(frame.decoded?.error) ?? revertReason)?.slice(0, MOST_CHARACTERS) ?? null,
  }
}
