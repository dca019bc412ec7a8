import { Address, Hash } from './address.js'

/** A sentence whose addresses and hashes are cut, each with its mark; a press copies all of it. */
export function Text({ children, nameOf }: { children: string; nameOf?(address: string): string | undefined }) {
  return children.split(/\b(0x(?:[0-9a-f]{64}|[0-9a-f]{40}))\b/i).map((part, at) => {
    if (at % 2 === 0) return part
    return part.length === 42 ? <Address key={at} value={part} name={nameOf?.(part)} /> : <Hash key={at} value={part} />
  })
}
