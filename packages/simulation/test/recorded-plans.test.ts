import { type BlockHeader, DEFAULT_SIMULATION_LIMITS, decodeSimulationRequest, toQuantity } from '@upfront/protocol'
import {
  type ChainRules,
  chainRulesFromGenesis,
  type PlannedBlock,
  planSimulation,
  type SimulationPlan,
} from '../src/index.js'
import { type RecordedExchange, recordedExchanges, recordedHeaders, recordedJson } from './recorded-chain.js'

/** Error codes that only the engine finds: the planner must accept these requests. */
const ENGINE_CODES = [-38010, -38011, -38012, -38013, -38014, -38015]

/** Errors that geth finds during execution, with codes that the planner also returns. */
const ENGINE_MESSAGES = /is not a precompile|max priority fee per gas higher/

describe.each(['conformance', 'conformance-op'] as const)('plans of the recorded exchanges in %s', (chain) => {
  const exchanges = recordedExchanges(chain)
  let headers: BlockHeader[]
  let rules: ChainRules

  beforeAll(() => {
    headers = recordedHeaders(chain)
    rules = chainRulesFromGenesis(recordedJson(chain, 'chain', 'genesis.json'))
  })

  function planOf({ params }: RecordedExchange): SimulationPlan {
    const request = decodeSimulationRequest(params, DEFAULT_SIMULATION_LIMITS)
    const { block } = request
    const base = block.kind === 'number' ? headers[Number(block.number)] : headers.at(-1)
    return planSimulation(request, base as BlockHeader, rules, DEFAULT_SIMULATION_LIMITS)
  }

  it('has at least 40 recorded exchanges', () => {
    expect(exchanges.length).toBeGreaterThanOrEqual(40)
  })

  for (const exchange of exchanges) {
    const { name, error, result } = exchange
    if (error !== undefined) {
      it(`returns the recorded error code, or leaves the error to the engine: ${name}`, () => {
        if (ENGINE_CODES.includes(error.code) || ENGINE_MESSAGES.test(error.message)) {
          expect(planOf(exchange).blocks.length).toBeGreaterThan(0)
        } else {
          expect(() => planOf(exchange)).toThrow(expect.objectContaining({ name: 'RpcError', code: error.code }))
        }
      })
    }
    if (result !== undefined) {
      it(`plans the recorded blocks: ${name}`, () => {
        const { blocks } = planOf(exchange)
        expect(blocks.map(headerOf)).toEqual(result.map((block, i) => recordedFields(block, blocks[i])))
        const types = blocks.flatMap(({ calls }) => calls.map(({ type }) => toQuantity(type)))
        recordedTypes(result).forEach((type, i) => {
          if (type !== undefined) expect(types[i]).toBe(type)
        })
      })
    }
  }
})

const HEADER_FIELDS = [
  'number',
  'timestamp',
  'gasLimit',
  'miner',
  'mixHash',
  'parentBeaconBlockRoot',
  'extraData',
  'withdrawals',
] as const

function headerOf(block: PlannedBlock): Record<string, unknown> {
  return {
    number: toQuantity(block.number),
    timestamp: toQuantity(block.timestamp),
    gasLimit: toQuantity(block.gasLimit),
    miner: block.feeRecipient,
    mixHash: block.prevRandao,
    parentBeaconBlockRoot: block.parentBeaconBlockRoot,
    extraData: block.extraData,
    withdrawals: block.withdrawals,
    calls: block.calls.length,
    ...(block.baseFeePerGas !== undefined && { baseFeePerGas: toQuantity(block.baseFeePerGas) }),
  }
}

/** The base fee is compared if it is planned; under validation the engine derives it. */
function recordedFields(block: Record<string, unknown>, planned: PlannedBlock | undefined): Record<string, unknown> {
  return {
    ...Object.fromEntries(HEADER_FIELDS.map((field) => [field, block[field]])),
    calls: (block.calls as unknown[]).length,
    ...(planned?.baseFeePerGas !== undefined && { baseFeePerGas: block.baseFeePerGas }),
  }
}

/** Types by position; undefined if only a hash was recorded. */
function recordedTypes(blocks: Record<string, unknown>[]): (string | undefined)[] {
  const transactions = blocks.flatMap((block) => block.transactions as (string | { type: string })[])
  return transactions.map((transaction) => (typeof transaction === 'string' ? undefined : transaction.type))
}
