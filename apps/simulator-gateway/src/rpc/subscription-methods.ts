import { DecodeError, decodeLogFilter, ErrorCode, type LogFilter, logMatches, Place, RpcError } from '@upfront/protocol'
import type { AnnouncedBlocks } from '../chain/announced-blocks.js'
import type { RpcContext, RpcMethod } from './rpc-method.js'
import type { Subscriber } from './subscriber.js'

type Open = (subscriber: Subscriber, argument: unknown) => Promise<string>

/**
 * `eth_subscribe` (`newHeads`, `logs`) and `eth_unsubscribe`, as geth has them: over WebSocket only.
 * @param follows whether the head is followed at all
 */
export function subscriptionMethods(blocks: AnnouncedBlocks, follows: boolean): Map<string, RpcMethod> {
  const kinds: Record<string, Open> = {
    newHeads: (subscriber) =>
      subscriber.subscribe((notify) => blocks.listen({ head: (header) => notify(JSON.stringify(header)) })),
    logs: (subscriber, argument) => {
      const filter = liveFilter(argument ?? {})
      return subscriber.subscribe((notify) =>
        blocks.listen({
          logs: (logs) => {
            for (const log of logs) if (logMatches(log, filter)) notify(JSON.stringify(log))
          },
        }),
      )
    },
  }
  return new Map<string, RpcMethod>([
    [
      'eth_subscribe',
      async (params, context) => {
        const [kind, argument] = positional(params)
        const subscriber = subscriberOf(context)
        const open = typeof kind === 'string' && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined
        if (open === undefined) {
          const known = Object.keys(kinds).join(', ')
          throw new RpcError(ErrorCode.invalidParams, `params[0]: expected one of the subscriptions ${known}`)
        }
        if (!follows) throw new RpcError(ErrorCode.serverError, 'no block is announced: FOLLOW_HEAD is off')
        return JSON.stringify(await open(subscriber, argument))
      },
    ],
    [
      'eth_unsubscribe',
      (params, context) => {
        const [id] = positional(params)
        if (typeof id !== 'string' || !subscriberOf(context).unsubscribe(id))
          throw new RpcError(ErrorCode.serverError, 'subscription not found')
        return 'true'
      },
    ],
  ])
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
