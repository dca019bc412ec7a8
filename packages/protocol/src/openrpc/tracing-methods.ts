import { TRACERS } from '../trace/tracer.js'
import type { OpenRpcMethod } from './openrpc-method.js'
import type { JsonSchema } from './schemas.js'

const TRACER: JsonSchema = { type: 'string', enum: TRACERS }
const TRACER_CONFIG: JsonSchema = {
  type: 'object',
  description:
    "Options of the tracer, flags but for the struct logger's `limit` (bytes): callTracer's `withLog` and `onlyTopCall`; prestateTracer's `diffMode`, `disableCode`, `disableStorage` and `includeEmpty`; erc7562Tracer's `withLog` and `ignoredOpcodes` (quantities); structLogger's `enableMemory`, `disableStack`, `disableStorage`, `enableReturnData` and `limit`",
}
const FLAG: JsonSchema = { type: 'boolean', description: 'Of the struct logger' }
const UNNAMED = 'Without a tracer each instruction is shown, as by the struct logger of geth'
const TRACER_OPTIONS = {
  tracer: TRACER,
  tracerConfig: TRACER_CONFIG,
  enableMemory: FLAG,
  disableStack: FLAG,
  disableStorage: FLAG,
  enableReturnData: FLAG,
  limit: { type: 'integer', description: 'Bytes of steps after which no more are shown; 0: all' },
} satisfies Record<string, JsonSchema>
const OPTIONS = {
  name: 'config',
  required: false,
  schema: { type: 'object', description: UNNAMED, properties: TRACER_OPTIONS },
} satisfies OpenRpcMethod['params'][number]
const GETH_TRACERS = {
  url: 'https://geth.ethereum.org/docs/developers/evm-tracing/built-in-tracers',
  description: "geth's built-in tracers",
}

/** What shows more of a call than its outcome. */
export const TRACING: OpenRpcMethod[] = [
  {
    name: 'upfront_simulate',
    summary:
      '`eth_simulateV1` whose calls also show their `trace`, `stateDiff`, `accessList`, `assetChanges`, `gasLimit`, `decoded`, `depends`, `outcome` and `guard`, and whose blocks their `stateDiff`, as far as the payload asks for them. Its state overrides may say `erc20`: `{ <token>: { balances: { <holder>: amount }, allowances: { <owner>: { <spender>: amount } } } }`, and a call may be a signed transaction in hex, `{ userOperation, entryPoint }`, or `{ safeTransaction }`.',
    paramStructure: 'by-position',
    params: [
      {
        name: 'payload',
        required: true,
        schema: {
          allOf: [
            { $ref: '#/components/schemas/SimulationPayload' },
            {
              type: 'object',
              properties: {
                trace: {
                  description: 'true: the callTracer with logs',
                  oneOf: [
                    { type: 'boolean' },
                    { type: 'object', properties: { tracer: TRACER, tracerConfig: TRACER_CONFIG } },
                  ],
                },
                stateDiff: { type: 'boolean', description: 'Balances, nonces, code and slots, before and after' },
                accessLists: { type: 'boolean', description: 'What each call accessed (EIP-2930)' },
                gasLimits: {
                  type: 'boolean',
                  description: 'The smallest gas limit with which each call still does what it did',
                },
                abi: {
                  type: 'array',
                  items: { type: 'object' },
                  description: 'Functions, errors and events by which calls are decoded',
                },
                fees: {
                  type: 'boolean',
                  description: 'What each call pays, or would, to an OP-stack chain beside gas',
                },
                depends: {
                  type: 'boolean',
                  description:
                    'Which values of state, block and transaction decided the outcome of each call, and where they went',
                },
                outcome: {
                  type: 'boolean',
                  description: 'Whether each call would do the same under other circumstances that could well come',
                },
                waiting: {
                  type: 'array',
                  maxItems: 32,
                  description:
                    'Transactions that may come before the calls, as call objects or signed in hex: tried by `outcome`',
                },
                link: {
                  type: 'boolean',
                  description: 'The request as a link to the page, on the block that it stood on',
                },
                guard: {
                  type: 'boolean',
                  description: 'Calls of a contract that have the chain hold each call to what it showed',
                },
                positions: {
                  description:
                    'The one call of the payload is tried at each of these positions of the block, how many of its transactions come before; the result is a list of outcomes',
                  oneOf: [
                    { type: 'string', enum: ['all'] },
                    { type: 'array', items: { type: 'integer' } },
                  ],
                },
                decode: {
                  type: 'boolean',
                  description:
                    'Calls, errors, logs and frames are decoded by what is known of contracts that everybody uses',
                },
                assetChanges: {
                  type: 'boolean',
                  description: 'What each call moves and approves by its logs, and whether balances agree',
                },
              },
            },
          ],
        },
      },
      { name: 'block', required: false, schema: { $ref: '#/components/schemas/StateParameter' } },
    ],
    result: { name: 'blocks', schema: { type: 'array', items: { $ref: '#/components/schemas/SimulatedBlock' } } },
  },
  {
    name: 'upfront_simulateUserOperation',
    summary:
      'What a user operation (ERC-4337) does on its EntryPoint, v0.7 or later: validation and execution apart, the rules of ERC-7562 that it breaks, and gas limits that suffice where `gasLimits` asks for them. A signature may be missing or wrong: it is then assumed, and said so.',
    paramStructure: 'by-position',
    params: [
      {
        name: 'payload',
        required: true,
        schema: {
          type: 'object',
          required: ['userOperation', 'entryPoint'],
          description: 'Also takes all that `upfront_simulate` has beside its blocks: `assetChanges`, `gasLimits`, …',
          properties: {
            userOperation: {
              type: 'object',
              description: "As JSON-RPC has it (ERC-7769), or the contract's packed form",
            },
            entryPoint: { $ref: '#/components/schemas/Address' },
            stateOverrides: { type: 'object', additionalProperties: { $ref: '#/components/schemas/AccountOverride' } },
            blockOverrides: { $ref: '#/components/schemas/BlockOverrides' },
          },
        },
      },
      { name: 'block', required: false, schema: { $ref: '#/components/schemas/BlockParameter' } },
    ],
    result: {
      name: 'operation',
      schema: {
        type: 'object',
        properties: {
          status: { $ref: '#/components/schemas/Quantity' },
          refusal: { type: 'string', description: 'Why the EntryPoint refuses it, whatever is assumed' },
          validation: { type: 'object' },
          paymaster: { type: 'object' },
          brokenRules: { type: 'array', items: { type: 'object' } },
          execution: { type: 'object' },
          gasLimits: { type: 'object' },
          transaction: { type: 'object', description: 'The call of the EntryPoint, as `upfront_simulate` shows it' },
        },
      },
    },
    externalDocs: { url: 'https://eips.ethereum.org/EIPS/eip-4337', description: 'Account abstraction' },
  },
  {
    name: 'upfront_estimateGas',
    summary:
      'As `eth_estimateGas`: the smallest gas limit with which a call does what it does, no inner call running short, and what it would pay to an OP-stack chain beside gas.',
    paramStructure: 'by-position',
    params: [
      { name: 'call', required: true, schema: { $ref: '#/components/schemas/Call' } },
      { name: 'block', required: false, schema: { $ref: '#/components/schemas/BlockParameter' } },
      {
        name: 'stateOverrides',
        required: false,
        schema: { type: 'object', additionalProperties: { $ref: '#/components/schemas/AccountOverride' } },
      },
      { name: 'blockOverrides', required: false, schema: { $ref: '#/components/schemas/BlockOverrides' } },
    ],
    result: {
      name: 'estimate',
      schema: {
        type: 'object',
        properties: {
          gas: { $ref: '#/components/schemas/Quantity' },
          gasUsed: { $ref: '#/components/schemas/Quantity' },
          rollupFees: { type: 'object', description: '`l1Fee` and `operatorFee` in wei; `isEstimate`' },
        },
      },
    },
  },
  {
    name: 'eth_createAccessList',
    summary: 'What a call accesses in a block, on the state after it, the pre-confirmed one included (EIP-2930)',
    paramStructure: 'by-position',
    params: [
      { name: 'call', required: true, schema: { $ref: '#/components/schemas/Call' } },
      { name: 'block', required: false, schema: { $ref: '#/components/schemas/StateParameter' } },
      {
        name: 'stateOverrides',
        required: false,
        schema: { type: 'object', additionalProperties: { $ref: '#/components/schemas/AccountOverride' } },
      },
    ],
    result: {
      name: 'accessList',
      schema: {
        type: 'object',
        properties: {
          accessList: { type: 'array', items: { $ref: '#/components/schemas/AccessListEntry' } },
          gasUsed: { $ref: '#/components/schemas/Quantity' },
          error: { type: 'string', description: 'Why the call failed' },
        },
      },
    },
  },
  {
    name: 'debug_traceCall',
    summary:
      'What a call does in a block, on the state after it, the pre-confirmed one included, as a tracer of geth shows it.',
    paramStructure: 'by-position',
    params: [
      { name: 'call', required: true, schema: { $ref: '#/components/schemas/Call' } },
      { name: 'block', required: false, schema: { $ref: '#/components/schemas/StateParameter' } },
      {
        name: 'config',
        required: false,
        schema: {
          type: 'object',
          description: UNNAMED,
          properties: {
            ...TRACER_OPTIONS,
            stateOverrides: { type: 'object', additionalProperties: { $ref: '#/components/schemas/AccountOverride' } },
            blockOverrides: { $ref: '#/components/schemas/BlockOverrides' },
            txIndex: {
              $ref: '#/components/schemas/Quantity',
              description: 'Of a transaction of the block: the call runs before it',
            },
          },
        },
      },
    ],
    result: { name: 'trace', schema: {} },
    externalDocs: GETH_TRACERS,
  },
  {
    name: 'debug_traceTransaction',
    summary: 'What a transaction did in its block, as a tracer of geth shows it.',
    paramStructure: 'by-position',
    params: [{ name: 'hash', required: true, schema: { $ref: '#/components/schemas/Hash' } }, OPTIONS],
    result: { name: 'trace', schema: {} },
    externalDocs: GETH_TRACERS,
  },
  ...(['Number', 'Hash'] as const).map((by): OpenRpcMethod => {
    const schema = by === 'Hash' ? 'Hash' : 'BlockParameter'
    return {
      name: `debug_traceBlockBy${by}`,
      summary: 'What the transactions of a sealed block did, as a tracer of geth shows it.',
      paramStructure: 'by-position',
      params: [{ name: 'block', required: true, schema: { $ref: `#/components/schemas/${schema}` } }, OPTIONS],
      result: {
        name: 'traces',
        schema: {
          type: 'array',
          items: {
            type: 'object',
            properties: { txHash: { $ref: '#/components/schemas/Hash' }, result: {} },
          },
        },
      },
      externalDocs: GETH_TRACERS,
    }
  }),
]
