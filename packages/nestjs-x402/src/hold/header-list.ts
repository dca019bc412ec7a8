/** Removes a header from `[name, value, name, value, …]`. @returns its value */
export function removeHeaderFromList(list: unknown[], wanted: string): unknown {
  let taken: unknown
  for (let index = list.length - 2; index >= 0; index -= 2) {
    if (String(list[index]).toLowerCase() !== wanted) continue
    taken = list[index + 1]
    list.splice(index, 2)
  }
  return taken
}

/** Converts `[name, value, name, value, …]` to an object. A repeated header gets an array of values. */
export function parseHeaderList(list: readonly string[]): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  for (let index = 0; index + 1 < list.length; index += 2) {
    const name = (list[index] ?? '').toLowerCase()
    const value = list[index + 1] ?? ''
    headers[name] = headers[name] === undefined ? value : [headers[name], value].flat()
  }
  return headers
}

export function lowerCased(headers: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
