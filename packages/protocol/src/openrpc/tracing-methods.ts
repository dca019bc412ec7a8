import { TRACERS } from '../trace/tracer.js'
import {
  BLOCK,
  CALL,
  method,
  type OpenRpcMethod,
  optional,
  required,
  STATE,
  STATE_OVERRIDES,
} from './openrpc-method.js'
import { flag, type JsonSchema, list, object, ref } from './schemas.js'

const TRACER: JsonSchema = { type: 'string', enum: TRACERS }
const TRACER_CONFIG: JsonSchema = {
  type: 'object',
  description:
    "Options of the tracer, flags but for the struct logger's `limit` (bytes): callTracer's `withLog` and `onlyTopCall`; prestateTracer's `diffMode`, `disableCode`, `disableStorage` and `includeEmpty`; erc7562Tracer's `withLog` and `ignoredOpcodes` (quantities); flatCallTracer's `convertParityErrors` and `includePrecompiles`; muxTracer's are fields named as its tracers, each with that tracer's options; structLogger's `enableMemory`, `disableStack`, `disableStorage`, `enableReturnData` and `limit`",
}
const STEP_FLAG = flag('Of the struct logger')
const UNNAMED = 'Without a tracer each instruction is shown, as by the struct logger of geth'
const TRACER_OPTIONS = {
  tracer: TRACER,
  tracerConfig: TRACER_CONFIG,
  enableMemory: STEP_FLAG,
  disableStack: STEP_FLAG,
  disableStorage: STEP_FLAG,
  enableReturnData: STEP_FLAG,
  limit: { type: 'integer', description: 'Bytes of steps after which no more are shown; 0: all' },
} satisfies Record<string, JsonSchema>
const OPTIONS = optional('config', { ...object(TRACER_OPTIONS), description: UNNAMED })
const OBJECT: JsonSchema = { type: 'object' }
const OBJECTS: JsonSchema = { type: 'array', items: OBJECT }
const GETH_TRACERS = {
  externalDocs: {
    url: 'https://geth.ethereum.org/docs/developers/evm-tracing/built-in-tracers',
    description: "geth's built-in tracers",
  },
}

/** Fields of `upfront_simulate` in addition to the payload of `eth_simulateV1`. */
const SHOWN: Record<string, JsonSchema> = {
  trace: {
    description: 'true: the callTracer with logs',
    oneOf: [{ type: 'boolean' }, object({ tracer: TRACER, tracerConfig: TRACER_CONFIG })],
  },
  stateDiff: flag('Balances, nonces, code and slots, before and after'),
  accessLists: flag('What each call accessed (EIP-2930)'),
  gasLimits: flag('The smallest gas limit with which each call still does what it did'),
  abi: { ...OBJECTS, description: 'Functions, errors and events by which calls are decoded' },
  fees: flag('What each call pays, or would, to an OP-stack chain beside gas'),
  depends: flag('Which values of state, block and transaction decided the outcome of each call, and where they went'),
  outcome: flag('Whether each call would do the same under other circumstances that could well come'),
  waiting: {
    type: 'array',
    maxItems: 32,
    description: 'Transactions that may come before the calls, as call objects or signed in hex: tried by `outcome`',
  },
  link: flag('The request as a link to the page, on the block that it stood on'),
  guard: flag('Calls of a contract that have the chain hold each call to what it showed'),
  positions: {
    description:
      'The one call of the payload is tried at each of these positions of the block, how many of its transactions come before; the result is a list of outcomes',
    oneOf: [
      { type: 'string', enum: ['all'] },
      { type: 'array', items: { type: 'integer' } },
    ],
  },
  decode: flag('Calls, errors, logs and frames are decoded by what is known of contracts that everybody uses'),
  assetChanges: flag('What each call moves and approves by its logs, and whether balances agree'),
}

/** Methods that show more of a call than its outcome. */
export const TRACING: OpenRpcMethod[] = [
  method(
    'upfront_simulate',
    '`eth_simulateV1` whose calls also show their `trace`, `stateDiff`, `accessList`, `assetChanges`, `gasLimit`, `decoded`, `depends`, `outcome` and `guard`, and whose blocks their `stateDiff`, as far as the payload asks for them. Its state overrides may say `erc20`: `{ <token>: { balances: { <holder>: amount }, allowances: { <owner>: { <spender>: amount } } } }`, and a call may be a signed transaction in hex, `{ userOperation, entryPoint }`, or `{ safeTransaction }`.',
    [required('payload', { allOf: [ref('SimulationPayload'), object(SHOWN)] }), STATE],
    ['blocks', list('SimulatedBlock')],
  ),
  method(
    'upfront_simulateUserOperation',
    'What a user operation (ERC-4337) does on its EntryPoint, v0.7 or later: validation and execution apart, the rules of ERC-7562 that it breaks, and gas limits that suffice where `gasLimits` asks for them. A signature may be missing or wrong: it is then assumed, and said so.',
    [
      required('payload', {
        ...object(
          {
            userOperation: {
              type: 'object',
              description: "As JSON-RPC has it (ERC-7769), or the contract's packed form",
            },
            entryPoint: ref('Address'),
            stateOverrides: STATE_OVERRIDES,
            blockOverrides: ref('BlockOverrides'),
          },
          ['userOperation', 'entryPoint'],
        ),
        description: 'Also takes all that `upfront_simulate` has beside its blocks: `assetChanges`, `gasLimits`, …',
      }),
      BLOCK,
    ],
    [
      'operation',
      object({
        status: ref('Quantity'),
        refusal: { type: 'string', description: 'Why the EntryPoint refuses it, whatever is assumed' },
        validation: OBJECT,
        paymaster: OBJECT,
        brokenRules: OBJECTS,
        execution: OBJECT,
        gasLimits: OBJECT,
        transaction: { type: 'object', description: 'The call of the EntryPoint, as `upfront_simulate` shows it' },
      }),
    ],
    { externalDocs: { url: 'https://eips.ethereum.org/EIPS/eip-4337', description: 'Account abstraction' } },
  ),
  method(
    'upfront_estimateGas',
    'As `eth_estimateGas`: the smallest gas limit with which a call does what it does, no inner call running short, and what it would pay to an OP-stack chain beside gas.',
    [CALL, BLOCK, optional('stateOverrides', STATE_OVERRIDES), optional('blockOverrides', ref('BlockOverrides'))],
    [
      'estimate',
      object({
        gas: ref('Quantity'),
        gasUsed: ref('Quantity'),
        rollupFees: { type: 'object', description: '`l1Fee` and `operatorFee` in wei; `isEstimate`' },
      }),
    ],
  ),
  method(
    'eth_createAccessList',
    'What a call accesses in a block, on the state after it, the pre-confirmed one included (EIP-2930)',
    [CALL, STATE, optional('stateOverrides', STATE_OVERRIDES)],
    [
      'accessList',
      object({
        accessList: list('AccessListEntry'),
        gasUsed: ref('Quantity'),
        error: { type: 'string', description: 'Why the call failed' },
      }),
    ],
  ),
  method(
    'debug_traceCall',
    'What a call does in a block, on the state after it, the pre-confirmed one included, as a tracer of geth shows it.',
    [
      CALL,
      STATE,
      optional('config', {
        ...object({
          ...TRACER_OPTIONS,
          stateOverrides: STATE_OVERRIDES,
          blockOverrides: ref('BlockOverrides'),
          txIndex: { ...ref('Quantity'), description: 'Of a transaction of the block: the call runs before it' },
        }),
        description: UNNAMED,
      }),
    ],
    ['trace', {}],
    GETH_TRACERS,
  ),
  method(
    'debug_traceTransaction',
    'What a transaction did in its block, as a tracer of geth shows it.',
    [required('hash', ref('Hash')), OPTIONS],
    ['trace', {}],
    GETH_TRACERS,
  ),
  ...(['Number', 'Hash'] as const).map((by) =>
    method(
      `debug_traceBlockBy${by}`,
      'What the transactions of a sealed block did, as a tracer of geth shows it.',
      [required('block', ref(by === 'Hash' ? 'Hash' : 'BlockParameter')), OPTIONS],
      ['traces', { type: 'array', items: object({ txHash: ref('Hash'), result: {} }) }],
      GETH_TRACERS,
    ),
  ),
]
