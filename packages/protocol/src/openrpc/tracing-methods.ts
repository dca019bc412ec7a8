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
const GETH_TRACERS = {
  url: 'https://geth.ethereum.org/docs/developers/evm-tracing/built-in-tracers',
  description: "geth's built-in tracers",
}

/** What shows more of a call than its outcome. */
export const TRACING: OpenRpcMethod[] = [
  {
    name: 'upfront_simulate',
    summary:
      '`eth_simulateV1` whose calls also show their `trace`, `stateDiff`, `accessList`, `assetChanges`, `gasLimit` and `decoded`, and whose blocks their `stateDiff`, as far as the payload asks for them. Its state overrides may say `erc20`: `{ <token>: { balances: { <holder>: amount }, allowances: { <owner>: { <spender>: amount } } } }`, and a call may be a signed transaction in hex.',
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
      { name: 'block', required: false, schema: { $ref: '#/components/schemas/BlockParameter' } },
    ],
    result: { name: 'blocks', schema: { type: 'array', items: { $ref: '#/components/schemas/SimulatedBlock' } } },
  },
  {
    name: 'eth_createAccessList',
    summary: 'What a call accesses in a block, on the state after it, the pre-confirmed one included (EIP-2930)',
    paramStructure: 'by-position',
    params: [
      { name: 'call', required: true, schema: { $ref: '#/components/schemas/Call' } },
      { name: 'block', required: false, schema: { $ref: '#/components/schemas/BlockParameter' } },
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
      { name: 'block', required: false, schema: { $ref: '#/components/schemas/BlockParameter' } },
      {
        name: 'config',
        required: false,
        schema: {
          type: 'object',
          description: 'Without a tracer each instruction is shown, as by the struct logger of geth',
          properties: {
            tracer: TRACER,
            tracerConfig: TRACER_CONFIG,
            enableMemory: FLAG,
            disableStack: FLAG,
            disableStorage: FLAG,
            enableReturnData: FLAG,
            limit: { type: 'integer', description: 'Bytes of steps after which no more are shown; 0: all' },
            stateOverrides: { type: 'object', additionalProperties: { $ref: '#/components/schemas/AccountOverride' } },
            blockOverrides: { $ref: '#/components/schemas/BlockOverrides' },
          },
        },
      },
    ],
    result: { name: 'trace', schema: {} },
    externalDocs: GETH_TRACERS,
  },
]
