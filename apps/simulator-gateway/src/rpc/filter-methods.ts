import type { Chain } from '@upfront/chain'
import { ErrorCode, RpcError } from '@upfront/protocol'
import type { RpcContext, RpcMethod } from '../requests/rpc-method.js'
import { Filters } from '../subscriptions/filters.js'
import { liveFilter } from '../subscriptions/live-filter.js'
import { nodeTransactions } from '../subscriptions/node-transactions.js'
import { listOf } from './reading.js'

export interface FilterSources {
  chain: Chain
  /** Whether the head is followed. */
  follows: boolean
  /** WebSocket URLs of nodes: only they know pending transactions. */
  nodeUrls: readonly string[]
  /** `eth_getLogs`, if it is served. */
  getLogs: RpcMethod | undefined
}

/**
 * `eth_newFilter`, `eth_newBlockFilter`, `eth_newPendingTransactionFilter` (if nodes have WebSocket URLs) and the methods that poll them.
 * They behave like geth's, on the same stream of blocks as subscriptions.
 */
export function filterMethods({ chain, follows, nodeUrls, getLogs }: FilterSources): Map<string, RpcMethod> {
  const { announced: blocks } = chain
  const filters = new Filters()
  const hashes = nodeTransactions(nodeUrls, chain, [])
  const full = nodeTransactions(nodeUrls, chain, [true])
  const clientOf = ({ client }: RpcContext) => {
    if (!follows)
      throw new RpcError(ErrorCode.serverError, 'subscriptions and filters are not available: FOLLOW_HEAD is off')
    return client
  }
  const methods: [string, RpcMethod][] = [
    [
      'eth_newBlockFilter',
      async (_, context) =>
        JSON.stringify(
          await filters.make(clientOf(context), (note, ended) =>
            blocks.listen({ added: ({ hash }) => note(JSON.stringify(hash)), ended }),
          ),
        ),
    ],
    [
      'eth_newFilter',
      async (params, context) => {
        const given = required(params)
        const passes = liveFilter(given, 0)
        return JSON.stringify(
          await filters.make(
            clientOf(context),
            (note, ended) =>
              blocks.listen({
                wantsLogs: true,
                texts: ({ kind, block }) =>
                  block.logs.filter(passes).map((log) => (kind === 'added' ? log.json : log.removedJson)),
                notify: note,
                ended,
              }),
            given as object,
          ),
        )
      },
    ],
    ['eth_getFilterChanges', (params) => filters.changes(idOf(params))],
    ['eth_uninstallFilter', (params) => JSON.stringify(filters.end(idOf(params)))],
  ]
  if (getLogs !== undefined)
    methods.push(['eth_getFilterLogs', (params, context) => getLogs([filters.logs(idOf(params))], context)])
  if (nodeUrls.length > 0)
    methods.push([
      'eth_newPendingTransactionFilter',
      async (params, context) => {
        const [isFull] = listOf(params ?? [])
        if (isFull != null && typeof isFull !== 'boolean')
          throw new RpcError(ErrorCode.invalidParams, 'params[0]: expected true for whole transactions, or false')
        const transactions = isFull ? full : hashes
        return JSON.stringify(
          await filters.make(clientOf(context), async (note, ended) => {
            const leave = await transactions.listen(note, () => undefined, ended)
            return leave ?? (() => undefined)
          }),
        )
      },
    ])
  return new Map(methods)
}

/** @throws RpcError if the first parameter is missing */
function required(params: unknown): unknown {
  const [first] = listOf(params)
  if (first == null) throw new RpcError(ErrorCode.invalidParams, 'missing value for required argument 0')
  return first
}

function idOf(params: unknown): string {
  const id = required(params)
  if (typeof id === 'string') return id
  throw new RpcError(ErrorCode.invalidParams, 'params[0]: expected the id of a filter')
}
