import { method, type OpenRpcMethod, optional, required } from './openrpc-method.js'
import { type JsonSchema, list, ref } from './schemas.js'

const CALL = ref('Call')
const CALLS = list('Call')
const OBJECT: JsonSchema = { type: 'object' }
const OBJECTS: JsonSchema = { type: 'array', items: OBJECT }
const BUNDLES: JsonSchema = {
  type: 'array',
  items: { type: 'object', properties: { transactions: CALLS, blockOverride: OBJECT } },
}
const TYPES: JsonSchema = { type: 'array', items: { type: 'string', enum: ['trace', 'stateDiff'] } }
const TRANSACTION = {
  from: '0xd8da6bf26964af9d7eed9e03e53415d37aa96045',
  to: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
  data: '0xa9059cbb000000000000000000000000fc43f5f9dd45258b3aff31bdbe6561d97e8b71de00000000000000000000000000000000000000000000000000000000000f4240',
}
const BLOCK = ['block', ref('BlockParameter'), 'latest'] as const
const OVERRIDES = ['stateOverrides', { type: 'object' }] as const
const WORD = `0x${'1'.padStart(64, '0')}`

type Parameter = readonly [name: string, schema: JsonSchema, example?: unknown]

const TENDERLY = {
  url: 'https://docs.tenderly.co/node/rpc-reference/ethereum-mainnet/tenderly_simulateTransaction',
  description: "Tenderly's method of this name",
}
const ALCHEMY = {
  url: 'https://www.alchemy.com/docs/reference/simulation-asset-changes',
  description: "Alchemy's method of this name",
}
const ERIGON = { url: 'https://docs.erigon.tech', description: "Erigon's method of this name" }
const OPEN_ETHEREUM = {
  url: 'https://openethereum.github.io/JSONRPC-trace-module',
  description: "OpenEthereum's method of this name",
}
const FLASHBOTS = {
  url: 'https://docs.flashbots.net/flashbots-auction/advanced/rpc-endpoint',
  description: "Flashbots' method of this name",
}

/** Methods of other services and nodes: see docs/other-services.md. */
export const OTHER_SERVICES: OpenRpcMethod[] = [
  ...bundled(
    ['tenderly_simulateTransaction', 'tenderly_simulateBundle'],
    'Decoded logs, calls, asset, balance and state changes of a transaction',
    [BLOCK, OVERRIDES, ['blockOverrides', OBJECT]],
    { status: true, gasUsed: '0xb415' },
    TENDERLY,
  ),
  ...bundled(
    ['tenderly_estimateGas', 'tenderly_estimateGasBundle'],
    'The smallest gas limit with which a transaction has the same effects',
    [BLOCK, OVERRIDES, ['blockOverrides', OBJECT]],
    { gas: '0xcb1d', gasUsed: '0xb415' },
    TENDERLY,
  ),
  ...bundled(
    ['alchemy_simulateAssetChanges', 'alchemy_simulateAssetChangesBundle'],
    'Transfers and approvals of a transaction',
    [BLOCK],
    { changes: [{ assetType: 'ERC20', changeType: 'TRANSFER' }], gasUsed: '0xb415', error: null },
    ALCHEMY,
  ),
  ...bundled(
    ['alchemy_simulateExecution', 'alchemy_simulateExecutionBundle'],
    'Calls and logs of a transaction, decoded',
    [BLOCK],
    { calls: [{ type: 'CALL' }], logs: [] },
    ALCHEMY,
    [['format', { type: 'string', enum: ['FLAT', 'NESTED'] }, 'FLAT']],
  ),
  shown(
    'eth_callMany',
    'Bundles of calls, each in its own block, on the state after a block or, with `transactionIndex`, after that many of its transactions',
    [
      ['bundles', BUNDLES, [{ transactions: [TRANSACTION] }]],
      ['simulateContext', OBJECT, { blockNumber: 'latest', transactionIndex: -1 }],
      OVERRIDES,
      ['timeout', { type: 'integer', description: "Ignored: the server's own limits apply" }],
    ],
    { type: 'array', items: OBJECTS },
    [[{ value: WORD }]],
    ERIGON,
  ),
  shown(
    'debug_traceCallMany',
    'The same, with a geth trace of each call',
    [
      ['bundles', BUNDLES, [{ transactions: [TRANSACTION] }]],
      ['simulateContext', OBJECT, { blockNumber: 'latest' }],
      ['config', OBJECT, { tracer: 'callTracer' }],
    ],
    { type: 'array', items: OBJECTS },
    [[{ type: 'CALL' }]],
    ERIGON,
  ),
  shown(
    'trace_call',
    'Actions and state changes of a call; `vmTrace` is refused',
    [['call', CALL, TRANSACTION], ['types', TYPES, ['trace']], BLOCK],
    OBJECT,
    { output: WORD, stateDiff: null, trace: [{ type: 'call' }], vmTrace: null },
    OPEN_ETHEREUM,
  ),
  shown(
    'trace_callMany',
    'The same for several, one after the other',
    [['calls', { type: 'array', items: { type: 'array' } }, [[TRANSACTION, ['trace', 'stateDiff']]]], BLOCK],
    OBJECTS,
    [{ output: WORD, stateDiff: {}, trace: [{ type: 'call' }], vmTrace: null }],
    OPEN_ETHEREUM,
  ),
  shown(
    'eth_callBundle',
    'What signed transactions, executed one after the other, pay to the fee recipient',
    [
      [
        'bundle',
        OBJECT,
        { txs: ['0x02f8…'], blockNumber: '0x1312d01', stateBlockNumber: 'latest', timestamp: 1_790_000_000 },
      ],
    ],
    OBJECT,
    { bundleGasPrice: '1000000000', coinbaseDiff: '21000000000000', results: [] },
    FLASHBOTS,
  ),
]

/** A method of one transaction, and its twin of several. @param before further parameters of the first, before the transaction */
function bundled(
  [one, several]: readonly [one: string, several: string],
  summary: string,
  params: readonly Parameter[],
  example: unknown,
  externalDocs: NonNullable<OpenRpcMethod['externalDocs']>,
  before: readonly Parameter[] = [],
): OpenRpcMethod[] {
  const all = [...before, ['transaction', CALL, TRANSACTION] as const, ...params]
  const same = 'The same for several, one after the other'
  return [
    shown(one, summary, all, OBJECT, example, externalDocs),
    shown(several, same, [['transactions', CALLS, [TRANSACTION]], ...params], OBJECTS, [example], externalDocs),
  ]
}

function shown(
  name: string,
  summary: string,
  params: readonly Parameter[],
  schema: JsonSchema,
  example: unknown,
  externalDocs: NonNullable<OpenRpcMethod['externalDocs']>,
): OpenRpcMethod {
  const given = params.flatMap(([param, , value]) => (value === undefined ? [] : [{ name: param, value }]))
  const examples = [{ name: 'A transfer of USDC', params: given, result: { name: 'result', value: example } }]
  const all = params.map(([param, of], index) => (index === 0 ? required(param, of) : optional(param, of)))
  return method(name, summary, all, ['result', schema], { examples, externalDocs })
}
