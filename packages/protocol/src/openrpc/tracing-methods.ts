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
    "Options of the tracer, all flags except the struct logger's `limit` (bytes): callTracer's `withLog` and `onlyTopCall`; prestateTracer's `diffMode`, `disableCode`, `disableStorage` and `includeEmpty`; erc7562Tracer's `withLog` and `ignoredOpcodes` (quantities); flatCallTracer's `convertParityErrors` and `includePrecompiles`; muxTracer's are fields named like its tracers, each with that tracer's options; structLogger's `enableMemory`, `disableStack`, `disableStorage`, `enableReturnData` and `limit`",
}
const STEP_FLAG = flag('Option of the struct logger')
const UNNAMED = 'Without a tracer, each instruction is shown, as by the struct logger of geth'
const TRACER_OPTIONS = {
  tracer: TRACER,
  tracerConfig: TRACER_CONFIG,
  timeout: {
    type: 'string',
    description:
      'Most time for one transaction, such as `300ms` or `5s`; then the trace fails with `execution timeout`',
  },
  enableMemory: STEP_FLAG,
  disableStack: STEP_FLAG,
  disableStorage: STEP_FLAG,
  enableReturnData: STEP_FLAG,
  limit: { type: 'integer', description: 'Bytes of steps after which no more are shown; 0: no limit' },
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
  gasLimits: flag('The smallest gas limit with which each call has the same effects'),
  abi: { ...OBJECTS, description: 'Functions, errors and events by which calls are decoded' },
  fees: flag('The fees that each call pays, or would pay, on an OP-stack chain in addition to gas'),
  depends: flag(
    'Which values of state, block and transaction decided the outcome of each call, and what they affected',
  ),
  outcome: flag('Whether each call would have the same effects under other likely circumstances'),
  waiting: {
    type: 'array',
    maxItems: 32,
    description:
      'Transactions that may be mined before the calls, as call objects or signed in hex; tried by `outcome`',
  },
  link: flag('A link to the console with this request, on the block that it ran on'),
  guard: flag('Calls to a guard contract that revert if the call does not do on chain what it showed here'),
  positions: {
    description:
      'The only call of the payload is tried at each of these positions (the number of transactions in the block before it); the result is a list of outcomes',
    oneOf: [
      { type: 'string', enum: ['all'] },
      { type: 'array', items: { type: 'integer' } },
    ],
  },
  decode: flag('Calls, errors, logs and frames are decoded with built-in signatures of widely used contracts'),
  assetChanges: flag('Transfers and approvals of each call by its logs, and whether balances agree'),
}

/** Methods that show more of a call than its outcome. */
export const TRACING: OpenRpcMethod[] = [
  method(
    'upfront_simulate',
    '`eth_simulateV1` whose calls also show their `trace`, `stateDiff`, `accessList`, `assetChanges`, `gasLimit`, `decoded`, `depends`, `outcome` and `guard`, and whose blocks their `stateDiff`, if the payload requests them. Its state overrides may say `erc20`: `{ <token>: { balances: { <holder>: amount }, allowances: { <owner>: { <spender>: amount } } } }`, and a call may be a signed transaction in hex, `{ userOperation, entryPoint }`, or `{ safeTransaction }`.',
    [required('payload', { allOf: [ref('SimulationPayload'), object(SHOWN)] }), STATE],
    ['blocks', list('SimulatedBlock')],
  ),
  method(
    'upfront_simulateUserOperation',
    'What a user operation (ERC-4337) does on its EntryPoint, v0.7 or later: validation and execution separately, the rules of ERC-7562 that it breaks, and, with `gasLimits`, sufficient gas limits. If the signature is missing or wrong, a valid one is assumed, and the result says so.',
    [
      required('payload', {
        ...object(
          {
            userOperation: {
              type: 'object',
              description: "In the form of JSON-RPC (ERC-7769), or in the contract's packed form",
            },
            entryPoint: ref('Address'),
            stateOverrides: STATE_OVERRIDES,
            blockOverrides: ref('BlockOverrides'),
          },
          ['userOperation', 'entryPoint'],
        ),
        description: 'Also takes the options of `upfront_simulate`: `assetChanges`, `gasLimits`, …',
      }),
      BLOCK,
    ],
    [
      'operation',
      object({
        status: ref('Quantity'),
        refusal: { type: 'string', description: 'Why the EntryPoint rejects it, whatever is assumed' },
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
    'Like `eth_estimateGas`: the smallest gas limit with which a call has the same effects and no inner call runs out of gas, and its fees on an OP-stack chain in addition to gas.',
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
    'The access list (EIP-2930) of a call on the state after a block, which may be the pre-confirmed one',
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
    'A geth trace of a call on the state after a block, which may be the pre-confirmed one.',
    [
      CALL,
      STATE,
      optional('config', {
        ...object({
          ...TRACER_OPTIONS,
          stateOverrides: STATE_OVERRIDES,
          blockOverrides: ref('BlockOverrides'),
          txIndex: { ...ref('Quantity'), description: 'Index of a transaction of the block: the call runs before it' },
        }),
        description: UNNAMED,
      }),
    ],
    ['trace', {}],
    GETH_TRACERS,
  ),
  method(
    'debug_traceTransaction',
    'A geth trace of a mined transaction.',
    [required('hash', ref('Hash')), OPTIONS],
    ['trace', {}],
    GETH_TRACERS,
  ),
  ...(['Number', 'Hash'] as const).map((by) =>
    method(
      `debug_traceBlockBy${by}`,
      'Geth traces of the transactions of a block.',
      [required('block', ref(by === 'Hash' ? 'Hash' : 'BlockParameter')), OPTIONS],
      ['traces', { type: 'array', items: object({ txHash: ref('Hash'), result: {} }) }],
      GETH_TRACERS,
    ),
  ),
]
