import {
  AnswerTooLong,
  type Decoded,
  type DecodedFrame,
  type Frame,
  type InspectedCall,
  MAX_TRACE_LEVELS,
} from '@upfront/simulation'

/** A decoded argument in the format of other services. */
export interface Argument {
  name: string
  type: string
  value: unknown
}

/** Arguments with the names and types of the signature, such as `transfer(address to, uint256 value)`. The type of tuples is `tuple`. */
export function argumentsOf({ signature = '', args }: Decoded): Argument[] {
  const inner = signature.slice(signature.indexOf('(') + 1, -1)
  const values = Object.values(args)
  return topLevel(inner).map((text, index) => {
    const [, tuple, brackets = '', plain = '', name = ''] =
      /^(\(.*\))((?:\[\d*\])*)(?: \S+)?$/.exec(text) === null
        ? (/^()()(\S+)(?: (\S+))?$/.exec(text) ?? [])
        : [...(/^(\(.*\))((?:\[\d*\])*)()(?: (\S+))?$/.exec(text) ?? [])]
    return { name, type: tuple ? `tuple${brackets}` : plain, value: values[index] }
  })
}

/** Splits at commas outside parentheses. */
function topLevel(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let from = 0
  for (let at = 0; at <= text.length; at++) {
    if (text[at] === '(') depth += 1
    else if (text[at] === ')') depth -= 1
    else if (at === text.length || (text[at] === ',' && depth === 0)) {
      if (at > from) parts.push(text.slice(from, at).trim())
      from = at + 1
    }
  }
  return parts
}

/** Why a call failed, by its contract's own error if known; undefined if it succeeded. */
export function failureOf({ error, decoded }: InspectedCall): string | undefined {
  if (error === undefined) return undefined
  const said = typeof error === 'string' ? error : error.message
  return decoded?.error?.from === undefined ? said : `execution reverted: ${decoded.error.meaning}`
}

/**
 * Path of each frame from the top call: the index among its caller's frames, at each level.
 * @throws AnswerTooLong if too many frames are too deep
 */
export function traceAddresses(
  frames: readonly Frame[],
): { frame: Frame; traceAddress: number[]; subtraces: number }[] {
  const made: { frame: Frame; traceAddress: number[]; subtraces: number }[] = []
  const path: (typeof made)[number][] = []
  let levels = 0
  for (const frame of frames) {
    levels += frame.depth
    if (levels > MAX_TRACE_LEVELS) throw new AnswerTooLong(MAX_TRACE_LEVELS)
    const parent = path[frame.depth - 1]
    const traceAddress = parent === undefined ? [] : [...parent.traceAddress, parent.subtraces++]
    const entry = { frame, traceAddress, subtraces: 0 }
    path[frame.depth] = entry
    made.push(entry)
  }
  return made
}

/** A frame and all frames below it, in the order of execution. */
export function flat(top: DecodedFrame): DecodedFrame[] {
  const frames: DecodedFrame[] = []
  const add = (frame: DecodedFrame) => {
    frames.push(frame)
    frame.calls?.forEach(add)
  }
  add(top)
  return frames
}

/** The fields that are neither null nor absent: other services treat null as absent. */
export function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null))
}
