import { readdirSync } from 'node:fs'
import { RECORDED_BLOCKS, recordedBlock } from '@upfront/devnet'
import type { Hex } from '@upfront/protocol'
import {
  type Answer,
  answerBlocks,
  BlockPositions,
  knownChainRules,
  NO_RECORDING,
  type PrefixSite,
  planTransaction,
  ReadBudget,
  type Step,
  sealedBlockFromRpc,
} from '@upfront/simulation'
import type { RevmEngine } from '../src/index.js'
import { BUILDS } from './builds.js'
import { recordedValues } from './recorded-values.js'

const BLOCKS = readdirSync(RECORDED_BLOCKS).filter((file) => file.endsWith('.json.br'))

describe.each(BUILDS)(
  'transactions of real blocks, each run on the state at its position, on the %s build',
  (_build, create) => {
    let engine: RevmEngine
    beforeAll(() => {
      engine = create({ threads: 1 })
    })
    afterAll(() => engine.close())

    it.each(BLOCKS)('%s: get the receipts that the header commits to', async (file) => {
      const recorded = recordedBlock(file)
      const rules = knownChainRules(BigInt(recorded.chainId))!
      const { signal } = new AbortController()
      const drive = async <T>(begun: Step<T> | Promise<Step<T>>): Promise<T> => {
        let step = await begun
        while (step.kind === 'lacking') step = await step.resume(step.reads.map(recordedValues(recorded)))
        return step.outcome
      }
      let executedGas = 0n
      const site: PrefixSite = {
        executor: engine,
        driver: { run: (begin) => drive(begin() as Promise<Step<never>>) },
        budget: new ReadBudget(1_000_000, Number.POSITIVE_INFINITY),
        cancellation: { signal },
        onExecuted: (gas) => {
          executedGas += gas
        },
      }
      const block = sealedBlockFromRpc(recorded.block)
      const { header } = block
      const parent = sealedBlockFromRpc(recorded.parent).header
      const positions = new BlockPositions()
      const { prefix, transactions } = positions.open(block, parent, rules)
      // Out of order: executed transactions are cached and not executed again.
      const half = Math.floor(transactions.length / 2)
      await positions.after(header.hash, prefix, half, site)
      await positions.after(header.hash, prefix, transactions.length, site)
      expect(executedGas).toBe(header.gasUsed)
      for (const [index, transaction] of transactions.entries()) {
        const state = await positions.after(header.hash, prefix, index, site)
        const limits = { answerBytes: 2 ** 24 }
        const plan = planTransaction(
          transaction,
          prefix.transactions[index]!,
          { header, parent },
          rules,
          limits,
          NO_RECORDING,
        )
        const answer: Answer = await drive(engine.begin(plan, state, { signal }) as Promise<Step<Answer>>)
        const [simulated] = answerBlocks(answer, 'ethereum')
        const { succeeded, gasUsed, logs } = prefix.receipts[index]!
        expect(shown(simulated!.calls[0]!)).toEqual({
          status: succeeded ? '0x1' : '0x0',
          gasUsed,
          logs: logs.map(({ address, topics, data }) => ({ address, topics, data })),
        })
      }
      expect(executedGas).toBe(header.gasUsed)
    })
  },
)

interface Called {
  status: Hex
  gasUsed: Hex
  logs: { address: Hex; topics: Hex[]; data: Hex }[]
}

function shown({ status, gasUsed, logs }: Called) {
  return {
    status,
    gasUsed: BigInt(gasUsed),
    logs: logs.map(({ address, topics, data }) => ({ address, topics, data })),
  }
}
