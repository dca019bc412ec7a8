/** Work that can be paused between its parts, so that the event loop serves other requests in between. */
export type Parts<T = void> = Generator<void, T, void>

/** Entries of a list or map in one part; shorter ones are processed at once. */
export const PART_ENTRIES = 1_024

/** Work deferred until the rest of a request is decoded. */
export type Later = Parts[]

/**
 * Like `values.map(map)`. If there are many values and `later` is given, the array is filled by the work added to `later`.
 * @param many number of values in one part
 */
export function mapInParts<T, R>(
  values: readonly T[],
  map: (value: T, index: number) => R,
  later: Later | undefined,
  many = PART_ENTRIES,
): R[] {
  if (later === undefined || values.length <= many) return values.map(map)
  const made: R[] = []
  later.push(fill(made, values, map, many))
  return made
}

function* fill<T, R>(made: R[], values: readonly T[], map: (value: T, index: number) => R, many: number): Parts {
  for (const [index, value] of values.entries()) {
    if (index > 0 && index % many === 0) yield
    made.push(map(value, index))
  }
}
