import { declareDiscoveryExtension } from '@x402/extensions/bazaar'
import { SOLD } from './free-reads.js'

const ADDRESS = { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' }
const CALL = { from: ADDRESS, to: ADDRESS, value: { type: 'string' }, data: { type: 'string' } }
const BUYER = '0xb0b0000000000000000000000000000000000001'

/** Input and output of `POST /v1/simulate`, for facilitators that list it (x402 Bazaar). */
export const SIMULATE_DISCOVERY = declareDiscoveryExtension({
  bodyType: 'json',
  input: {
    jsonrpc: '2.0',
    id: 1,
    method: 'eth_simulateV1',
    params: [{ blockStateCalls: [{ calls: [{ to: BUYER, value: '0x1' }] }] }, 'pending'],
  },
  inputSchema: {
    type: 'object',
    properties: {
      jsonrpc: { const: '2.0' },
      id: { type: ['number', 'string'] },
      method: { enum: SOLD },
      params: { type: 'array', minItems: 1 },
    },
    required: ['jsonrpc', 'id', 'method', 'params'],
  },
  output: {
    example: {
      jsonrpc: '2.0',
      id: 1,
      result: [{ number: '0x1', calls: [{ status: '0x1' }] }],
      charge: { amount: '1000' },
    },
  },
})

/** Like {@link SIMULATE_DISCOVERY}, for `GET /v1/preview`. */
export const PREVIEW_DISCOVERY = declareDiscoveryExtension({
  input: { to: BUYER, value: '1' },
  inputSchema: { properties: CALL, required: ['to'] },
  output: { example: { status: 'success', gasUsed: '0x5208', revertReason: null, changes: [] } },
})
