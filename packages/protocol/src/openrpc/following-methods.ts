import { method, type OpenRpcMethod, optional, required } from './openrpc-method.js'
import { flag, type JsonSchema, list, object, ref } from './schemas.js'

const ID: JsonSchema = { type: 'string' }
const OBJECT: JsonSchema = { type: 'object' }
const DONE: JsonSchema = { type: 'boolean' }
const FILTER = object({
  address: { oneOf: [ref('Address'), list('Address')] },
  topics: { type: 'array', maxItems: 4, description: 'Per position: a topic, a list of alternatives, or null for any' },
  fromBlock: ref('BlockParameter'),
  toBlock: ref('BlockParameter'),
  blockHash: ref('Hash'),
})
const GETH = {
  externalDocs: { url: 'https://geth.ethereum.org/docs/interacting-with-geth/rpc/pubsub', description: "geth's" },
}

/** Filters, and subscriptions, which are served over WebSocket only. */
export const FOLLOWING: OpenRpcMethod[] = [
  method(
    'eth_subscribe',
    'Over WebSocket: notifies of heads, logs or waiting transactions, and of the block under construction if a stream is followed. An additional last parameter `{"resume": last}` continues after the last notification received.',
    [
      required('kind', {
        type: 'string',
        enum: ['newHeads', 'logs', 'newPendingTransactions', 'newFlashblocks', 'pendingLogs'],
      }),
      optional('filter', {
        description: 'Of logs; of `newPendingTransactions`: true for whole transactions',
        oneOf: [FILTER, { type: 'boolean' }],
      }),
    ],
    ['subscription', ID],
    GETH,
  ),
  method(
    'upfront_subscribe',
    'Over WebSocket: repeats a simulation on each head (at `pending`, on each flashblock) and notifies of its result or error whenever the outcome changes.',
    [
      required('kind', { type: 'string', enum: ['simulation'] }),
      required('payload', { ...OBJECT, description: 'That of `eth_simulateV1` or `upfront_simulate`' }),
      optional('block', ref('StateParameter')),
    ],
    ['subscription', ID],
  ),
  ...['eth', 'upfront'].map((namespace) =>
    method(`${namespace}_unsubscribe`, 'Ends a subscription', [required('subscription', ID)], ['ended', DONE]),
  ),
  method('eth_newFilter', 'Makes a filter of new logs', [required('filter', FILTER)], ['filter', ID], GETH),
  method('eth_newBlockFilter', 'Makes a filter of new blocks', [], ['filter', ID], GETH),
  method(
    'eth_newPendingTransactionFilter',
    'Makes a filter of waiting transactions',
    [optional('full', flag('Whole transactions instead of hashes'))],
    ['filter', ID],
    GETH,
  ),
  method(
    'eth_getFilterChanges',
    'What a filter has found since the last poll',
    [required('filter', ID)],
    ['changes', { type: 'array' }],
    GETH,
  ),
  method('eth_getFilterLogs', 'All logs of a filter', [required('filter', ID)], ['logs', list('SimulatedLog')], GETH),
  method('eth_uninstallFilter', 'Ends a filter', [required('filter', ID)], ['ended', DONE], GETH),
]
