import { newestBlock } from '@upfront/preconfirmed'
import { DecodeError, decodeLogFilter, ErrorCode, type LogFilter, logMatches, Place, RpcError } from '@upfront/protocol'
import { presentPendingBlock } from '@upfront/simulation'
import type { AnnouncedBlocks, AnnouncedLog } from '../chain/announced-blocks.js'
import type { Preconfirmed } from '../pending/preconfirmed.js'
import type { RpcContext, RpcMethod } from './rpc-method.js'
import type { Subscriber } from './subscriber.js'
import { UnsealedLogs } from './unsealed-logs.js'
import { SimulationWatch } from './watch-simulation.js'

/** What subscriptions tell of. */
export interface SubscriptionSources {
  blocks: AnnouncedBlocks
  preconfirmed: Preconfirmed
  /** Whether the head is followed at all. */
  follows: boolean
}

type Open = (subscriber: Subscriber, params: unknown[]) => Promise<string>

/**
 * `eth_subscribe` and `eth_unsubscribe`, as geth has them, over WebSocket only: `newHeads`, `logs`, and where a stream is followed
 * `newFlashblocks`, `pendingLogs`. `upfront_subscribe` to a `simulation` tells whenever its outcome changes.
 */
export function subscriptionMethods(sources: SubscriptionSources): Map<string, RpcMethod> {
  const methods = new Map<string, RpcMethod>()
  for (const [namespace, kinds] of [
    ['eth', { ...headKinds(sources), ...(sources.preconfirmed.enabled && streamKinds(sources)) }],
    ['upfront', simulationKinds(sources)],
  ] as const) {
    methods.set(`${namespace}_subscribe`, async (params, context) => {
      const [kind, ...more] = positional(params)
      const subscriber = subscriberOf(context)
      const open = typeof kind === 'string' && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined
      if (open === undefined) {
        const known = Object.keys(kinds).join(', ')
        throw new RpcError(ErrorCode.invalidParams, `params[0]: expected one of the subscriptions ${known}`)
      }
      if (!sources.follows) throw new RpcError(ErrorCode.serverError, 'no block is announced: FOLLOW_HEAD is off')
      return JSON.stringify(await open(subscriber, more))
    })
    methods.set(`${namespace}_unsubscribe`, (params, context) => {
      const [id] = positional(params)
      if (typeof id !== 'string' || !subscriberOf(context).unsubscribe(id))
        throw new RpcError(ErrorCode.serverError, 'subscription not found')
      return 'true'
    })
  }
  return methods
}

function headKinds({ blocks }: SubscriptionSources): Record<string, Open> {
  return {
    newHeads: (subscriber) =>
      subscriber.subscribe((notify) => blocks.listen({ added: ({ header }) => notify(JSON.stringify(header)) })),
    logs: (subscriber, [argument]) => {
      const filter = liveFilter(argument ?? {})
      return subscriber.subscribe((notify) => {
        const send = (logs: readonly AnnouncedLog[], removed: object = {}) => {
          for (const log of logs) if (logMatches(log, filter)) notify(JSON.stringify({ ...log, ...removed }))
        }
        return blocks.listen({
          wantsLogs: true,
          added: ({ logs }) => send(logs),
          removed: ({ logs }) => send(logs.toReversed(), { removed: true }),
        })
      })
    },
  }
}

function streamKinds({ blocks, preconfirmed }: SubscriptionSources): Record<string, Open> {
  return {
    newFlashblocks: (subscriber) =>
      subscriber.subscribe(async (notify) => {
        let last: unknown
        return preconfirmed.onSnapshot((snapshot) => {
          const block = newestBlock(snapshot)
          // The same block as before on another head.
          if (block === last) return
          last = block
          const { payloadId, index: flashblock } = block
          notify(JSON.stringify({ ...presentPendingBlock(block, true), payloadId, flashblock }))
        })
      }),
    pendingLogs: (subscriber, [argument]) => {
      const filter = liveFilter(argument ?? {})
      return subscriber.subscribe(async (notify) => {
        const logs = new UnsealedLogs(filter, (log) => notify(JSON.stringify(log)))
        const leave = await blocks.listen({ wantsLogs: true, added: (block) => logs.settle(block) })
        const unlisten = preconfirmed.onSnapshot((snapshot) => logs.show(snapshot))
        return () => {
          leave()
          unlisten()
        }
      })
    },
  }
}

function simulationKinds({ blocks, preconfirmed }: SubscriptionSources): Record<string, Open> {
  return {
    simulation: (subscriber, params) =>
      subscriber.subscribe(async (notify) => {
        const watch = new SimulationWatch(subscriber, params, notify)
        const leave = await blocks.listen({ added: () => void watch.run() })
        const unlisten = params[1] === 'pending' ? preconfirmed.onSnapshot(() => void watch.run()) : () => undefined
        void watch.run()
        return () => {
          watch.end()
          leave()
          unlisten()
        }
      }),
  }
}

function subscriberOf({ subscriber }: RpcContext): Subscriber {
  if (subscriber !== undefined) return subscriber
  throw new RpcError(ErrorCode.methodNotFound, 'notifications not supported: subscribe over WebSocket')
}

function positional(params: unknown): unknown[] {
  if (Array.isArray(params)) return params
  throw new RpcError(ErrorCode.invalidParams, 'params: expected an array')
}

/** @throws RpcError -32602 where it asks for other blocks than new ones, too */
function liveFilter(value: unknown): LogFilter {
  try {
    const filter = decodeLogFilter(value, new Place(undefined, 'params[1]'))
    for (const bound of ['blockHash', 'fromBlock', 'toBlock'] as const)
      if (filter[bound] !== undefined)
        throw new DecodeError(
          new Place(undefined, `params[1].${bound}`),
          'a subscription is to new blocks: ask eth_getLogs',
        )
    return filter
  } catch (error) {
    if (error instanceof DecodeError) throw new RpcError(ErrorCode.invalidParams, error.message)
    throw error
  }
}
