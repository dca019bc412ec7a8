import { recordedBlock } from '@upfront/devnet'
import { drive } from '@upfront/engine-conformance'
import { DEFAULT_SIMULATION_LIMITS, decodeSimulationRequest, type Hex, type Inspection } from '@upfront/protocol'
import { type InspectedBlock, inspect, knownChainRules, ReadBudget, sealedBlockFromRpc } from '@upfront/simulation'
import { createRevmEngine } from '../src/index.js'
import { recordedValues } from './recorded-values.js'

export const RECORDED = ['zkpi-22188088', 'pevm-19929064', 'pevm-18085863', 'pevm-16257471', 'konab-26207962']

/** A transaction as JSON-RPC returns it. */
export interface RecordedTransaction {
  hash: Hex
  from: Hex
  to?: Hex | null
  input: Hex
  value: Hex
  gas: Hex
}

const NOTHING_SHOWN: Inspection = {
  ...{ stateDiff: false, accessLists: false, assetChanges: false, gasLimits: false },
}

/** Inspects calls at the time of a recorded block, on its parent's state. */
export function recordedInspection(name: string) {
  const recorded = recordedBlock(`${name}.json.br`)
  const { chainId, parent, block } = recorded
  const rules = knownChainRules(BigInt(chainId))!
  const base = sealedBlockFromRpc(parent).header
  const { timestamp } = sealedBlockFromRpc(block).header
  const engine = createRevmEngine({ threads: 1 })
  const { signal } = new AbortController()
  const recordedValue = recordedValues(recorded)
  return {
    /** Transactions sent by users, without system ones. */
    transactions: (block.transactions as (RecordedTransaction & { type: Hex })[]).filter(({ type }) => type !== '0x7e'),
    /** @throws RpcError as `inspect` does */
    async inspect(calls: readonly object[], inspection: Partial<Inspection>): Promise<InspectedBlock> {
      const blockOverrides = { time: `0x${timestamp.toString(16)}` }
      const params = [{ blockStateCalls: [{ blockOverrides, calls }] }, 'latest']
      const answer = await inspect(
        {
          request: decodeSimulationRequest(params, DEFAULT_SIMULATION_LIMITS),
          base,
          state: { block: { header: base, key: base.hash }, key: base.hash, layers: [] },
          rules,
          driver: {
            simulate: (plan, point) =>
              drive(engine.begin(plan, point, { signal }), { read: (reads) => reads.map(recordedValue) }),
          },
          limits: DEFAULT_SIMULATION_LIMITS,
          budget: new ReadBudget(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
          cancellation: { signal },
          dialect: 'ethereum',
        },
        { ...NOTHING_SHOWN, ...inspection },
      )
      return (JSON.parse(answer.json.toString()) as [InspectedBlock])[0]
    },
    close: () => engine.close(),
  }
}
