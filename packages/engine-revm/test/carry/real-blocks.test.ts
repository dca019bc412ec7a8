import { type RecordedBlock, recordedBlock } from '@upfront/devnet'
import {
  blockToCarry,
  type Carried,
  carryRules,
  knownChainRules,
  type Step,
  sealedBlockFromRpc,
} from '@upfront/simulation'
import { createRevmEngine } from '../../src/index.js'
import { recordedValues } from '../recorded-values.js'

/** Maximum rounds per block on an engine with an empty cache. */
const ROUNDS = {
  'zkpi-22188088': 4,
  'pevm-19929064': 9,
  'pevm-18085863': 14,
  'pevm-16257471': 15,
  'konab-26207962': 16,
}

describe('real blocks, carried by an engine with an empty cache', () => {
  it.each(Object.entries(ROUNDS))('%s matches its header, in at most %i rounds of reads', async (name, most) => {
    const recorded = recordedBlock(`${name}.json.br`)
    const { carried, rounds } = await carry(recorded)
    expect(carried).toMatchObject({ kind: 'carried' })
    expect(rounds).toBeLessThanOrEqual(most)
  })
})

async function carry(recorded: RecordedBlock) {
  const { chainId, parent, block } = recorded
  const rules = knownChainRules(BigInt(chainId))!
  const sealed = sealedBlockFromRpc(block)
  const toCarry = blockToCarry(sealed, rules, carryRules(rules, sealed.header, sealedBlockFromRpc(parent).header)!)
  const engine = createRevmEngine({ threads: 1 })
  const { signal } = new AbortController()
  let step: Step<Carried> = await engine.carry(toCarry, { key: sealed.header.parentHash, layers: [] }, { signal })
  let rounds = 0
  for (; step.kind === 'lacking'; rounds += 1) step = await step.resume(step.reads.map(recordedValues(recorded)))
  await engine.close()
  return { carried: step.outcome, rounds }
}
