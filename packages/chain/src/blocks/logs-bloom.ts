import type { Hex, LogFilter } from '@upfront/protocol'
import { keccak256 } from 'viem'

const BLOOM_CHARACTERS = 512
/** With more alternatives at one place a bloom says little, and hashing them takes longer than reading. */
const MOST_ALTERNATIVES = 16

/**
 * Whether a block with this `logsBloom` may have logs that the filter lets through: the bloom filter of the Yellow Paper (4.3.1), three bits of
 * 2,048 for each address and topic.
 */
export function mayHoldLogs(logsBloom: Hex, { addresses, topics }: Pick<LogFilter, 'addresses' | 'topics'>): boolean {
  return [addresses, ...topics].every(
    (alternatives) =>
      alternatives.size === 0 ||
      alternatives.size > MOST_ALTERNATIVES ||
      [...alternatives].some((value) => isIn(logsBloom, value)),
  )
}

function isIn(bloom: Hex, value: Hex): boolean {
  const hash = keccak256(value)
  return [0, 1, 2].every((pair) => {
    const bit = Number.parseInt(hash.slice(2 + 4 * pair, 6 + 4 * pair), 16) & 2_047
    const digit = Number.parseInt(bloom.charAt(2 + BLOOM_CHARACTERS - 1 - (bit >> 2)), 16)
    return (digit & (1 << (bit & 3))) !== 0
  })
}
