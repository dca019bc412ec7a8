import { Address, Hash } from './address.js'
import { Time } from './time.js'

/** A sentence with addresses and hashes shortened, each with its icon; a click copies all of it. Times are in the reader's zone. */
export function Text({ children, nameOf }: { children: string; nameOf?(address: string): string | undefined }) {
  return children
    .split(/\b(0x(?:[0-9a-f]{64}|[0-9a-f]{40})|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)\b/i)
    .map((part, at) => {
      if (at % 2 === 0) return part
      if (part.endsWith('Z')) return <Time key={at} at={part} />
      return part.length === 42 ? (
        <Address key={at} value={part} name={nameOf?.(part)} />
      ) : (
        <Hash key={at} value={part} />
      )
    })
}
