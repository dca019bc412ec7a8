import type { Tool } from '@modelcontextprotocol/sdk/types.js'

const address = { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' }
const paid = {
  type: 'boolean',
  description:
    'true: ask for the higher limits that are sold. Answered with an x402 offer (scheme upto) until the call carries a payment in _meta["x402/payment"].',
}

/** What an agent can call. */
export const TOOLS: readonly Tool[] = [
  {
    name: 'preview',
    title: 'What would this call do?',
    description:
      'Simulates one call on the newest state, pre-confirmed where the chain has it, before it is signed: success or why and in which frame it fails, gas, and what changes hands by address, confirmed by balances that the tokens state. Free within the free limits.',
    inputSchema: {
      type: 'object',
      properties: {
        from: { ...address, description: 'Who calls.' },
        to: { ...address, description: 'Who is called; absent: a contract is created.' },
        data: { type: 'string', pattern: '^0x([0-9a-fA-F]{2})*$', description: 'Call data.' },
        value: { type: 'string', description: 'Wei, decimal or hex.' },
        paid,
      },
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: true },
  },
  {
    name: 'simulate',
    title: 'eth_simulateV1',
    description:
      'Simulates blocks of calls that build on each other, with overrides of state and block, as eth_simulateV1 of the execution-apis. Free within the free limits.',
    inputSchema: {
      type: 'object',
      properties: {
        blockStateCalls: {
          type: 'array',
          description: 'Blocks, each {blockOverrides?, stateOverrides?, calls?}; quantities are 0x-prefixed hex.',
          items: { type: 'object' },
        },
        traceTransfers: { type: 'boolean', description: 'Log transfers of the native currency as ERC-20 transfers.' },
        validation: { type: 'boolean', description: 'Check nonces, balances and fees as a real block does.' },
        returnFullTransactions: { type: 'boolean' },
        block: { type: 'string', description: 'What to build on: a tag, number or hash. Default pending.' },
        paid,
      },
      required: ['blockStateCalls'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: true },
  },
  {
    name: 'price',
    title: 'What does it cost?',
    description:
      'The free limits, and the price list, rules and x402 offer of what is sold. With gas, accounts and slots also what a simulation of that size is charged.',
    inputSchema: {
      type: 'object',
      properties: {
        gas: { type: 'integer', minimum: 0, description: 'Of all calls.' },
        accounts: { type: 'integer', minimum: 0, description: 'Distinct accounts touched.' },
        slots: { type: 'integer', minimum: 0, description: 'Distinct storage slots touched.' },
      },
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, idempotentHint: true },
  },
]
