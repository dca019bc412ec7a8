import type { Tool } from '@modelcontextprotocol/sdk/types.js'

const address = { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' }
const paid = {
  type: 'boolean',
  description:
    'true: use the paid, higher limits. Without a payment in _meta["x402/payment"], the answer is an x402 offer (scheme upto).',
}

/** Added to the JSON of paid answers. */
const charge = { type: 'object', description: 'What was charged and why; only if the call was paid.' }

/** Matches an x402 PaymentRequired or a failed settlement: clients validate error results against the schema too. */
const UNPAID = { required: ['error'] }

/** The server's instructions for agents. @param chain CAIP-2 ID */
export function instructionsOn(chain: string): string {
  return `Simulates transactions on the chain ${chain} before they are signed; nothing is ever sent. Use preview for one call, and simulate for several that build on each other. Both are free within limits; price returns the limits, and what more costs. A call that has to be paid for is answered with an x402 offer; pay it in _meta["x402/payment"].`
}

/** The tools. */
export const TOOLS: readonly Tool[] = [
  {
    name: 'preview',
    title: 'What would this call do?',
    description:
      'Simulates one call on the newest state, pre-confirmed if the chain has it, before it is signed: whether it succeeds, or why and in which frame it fails, its gas, and asset changes by address, compared with the balances that the tokens report. Free within the free limits.',
    inputSchema: {
      type: 'object',
      properties: {
        from: { ...address, description: 'Who calls.' },
        to: { ...address, description: 'The address to call; if absent, a contract is created.' },
        data: { type: 'string', pattern: '^0x([0-9a-fA-F]{2})*$', description: 'Call data.' },
        value: { type: 'string', description: 'Wei, decimal or hex.' },
        paid,
      },
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: {
        status: { type: 'string', enum: ['success', 'reverted'] },
        gasUsed: { type: 'string' },
        changes: { type: 'array', description: 'Asset changes, by address.', items: { type: 'object' } },
        block: { type: 'object', description: 'The state that the call was simulated on.' },
        charge,
      },
      anyOf: [{ required: ['status', 'block'] }, UNPAID],
    },
    annotations: { readOnlyHint: true, openWorldHint: true },
  },
  {
    name: 'simulate',
    title: 'eth_simulateV1',
    description:
      'Simulates blocks of calls that build on each other, with state and block overrides, like eth_simulateV1 of execution-apis. Free within the free limits.',
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
        block: { type: 'string', description: 'The block to build on: a tag, number or hash. Default pending.' },
        paid,
      },
      required: ['blockStateCalls'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: {
        result: {
          type: 'array',
          description:
            'Blocks, each with its calls: status, gasUsed, returnData, logs, error. Complete blocks if the call was paid.',
          items: { type: 'object' },
        },
        charge,
      },
      anyOf: [{ required: ['result'] }, UNPAID],
    },
    annotations: { readOnlyHint: true, openWorldHint: true },
  },
  {
    name: 'price',
    title: 'What does it cost?',
    description:
      'The free limits, and the price list, rules and x402 offer of paid calls. With gas, accounts and slots, also the charge for a simulation of that size.',
    inputSchema: {
      type: 'object',
      properties: {
        gas: { type: 'integer', minimum: 0, description: 'Gas of all calls.' },
        accounts: { type: 'integer', minimum: 0, description: 'Distinct accounts touched.' },
        slots: { type: 'integer', minimum: 0, description: 'Distinct storage slots touched.' },
      },
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: {
        chain: { type: 'string', description: 'The chain as CAIP-2 id, e.g. eip155:8453.' },
        free: { type: 'object', description: 'The free limits.' },
        paid: { type: ['object', 'null'], description: 'The paid routes; null if there are none.' },
      },
      required: ['chain', 'free', 'paid'],
    },
    annotations: { readOnlyHint: true, idempotentHint: true },
  },
]
