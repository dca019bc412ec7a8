import { ZERO_HASH } from '@upfront/protocol'
import { aHeader } from '../../test/fixtures.js'
import type { ChainRules, EthereumFork, OpFork } from '../plan/chain-rules.js'
import { carryRules } from './block-to-carry.js'

/** Rules of a chain that activates `fork` at time 100, after `before`. */
function rulesOver(stack: ChainRules['stack'], before: EthereumFork | OpFork, fork: EthereumFork | OpFork) {
  const rules: ChainRules = {
    ...{ chainId: 1n, stack, source: 'genesis-file', blobSchedule: [] },
    forks: [
      { fork: before, timestamp: 0n },
      { fork, timestamp: 100n },
    ],
    schedule: { blockTime: 2n },
  } as unknown as ChainRules
  const header = (timestamp: bigint) => ({ ...aHeader(), number: timestamp, timestamp, difficulty: 0n })
  const listed = fork === 'amsterdam' && { blockAccessListHash: ZERO_HASH }
  return carryRules(rules, { ...header(100n), ...listed }, header(98n))
}

describe('carryRules', () => {
  it.each([
    ['ethereum', 'paris', 'shanghai'],
    ['ethereum', 'osaka', 'amsterdam'],
    ['optimism', 'canyon', 'ecotone'],
    ['optimism', 'holocene', 'isthmus'],
    ['optimism', 'jovian', 'karst'],
  ] as const)(
    'returns rules for the first block of a fork that changes state only by the block: %s, %s to %s',
    (stack, before, fork) => {
      expect(rulesOver(stack, before, fork)).toMatchObject(stack === 'ethereum' ? { fork } : { opFork: fork })
    },
  )

  it.each([
    ['optimism', 'regolith', 'canyon'],
    ['optimism', 'regolith', 'ecotone'],
    ['optimism', 'jovian', 'azul'],
  ] as const)(
    'returns undefined if the fork changes, or may change, more state than the block: %s, %s to %s',
    (stack, before, fork) => {
      expect(rulesOver(stack, before, fork)).toBeUndefined()
    },
  )
})
