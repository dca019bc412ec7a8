import { type BlockChange, type BlockLog, type Chain, newestBlock, type Preconfirmed } from '@upfront/chain'
import { ErrorCode, RpcError } from '@upfront/protocol'
import { presentPendingBlock } from '@upfront/simulation'
import { type UnsealedLog, UnsealedLogs } from '../pending/unsealed-logs.js'
import type { RpcContext, RpcMethod } from '../requests/rpc-method.js'
import { Broadcast } from '../subscriptions/broadcast.js'
import { liveFilter } from '../subscriptions/live-filter.js'
import { nodeTransactions } from '../subscriptions/node-transactions.js'
import {
  flashblockPosition,
  headPosition,
  type LogPosition,
  logPosition,
  replay,
  unknownUnsealedPosition,
  unsealedLogPosition,
} from '../subscriptions/resume.js'
import type { Subscriber } from '../subscriptions/subscriber.js'
import { WatchedSimulation } from '../subscriptions/watched-simulation.js'
import { listOf } from './reading.js'

/** Sources of notifications. */
export interface SubscriptionSources {
  chain: Chain
  preconfirmed: Preconfirmed
  /** Whether the head is followed. */
  follows: boolean
  /** WebSocket URLs of nodes: only they know pending transactions. */
  nodeUrls: readonly string[]
}

type Open = (subscriber: Subscriber, params: unknown[]) => Promise<string>

/** How long blocks under construction are still followed for clients that reconnect. */
const LINGER_MS = 60_000
/** Logs kept for them. */
const MAX_UNSEALED_LOGS = 20_000
/** Flashblocks kept for them, in characters of JSON. */
const MAX_FLASHBLOCKS_LENGTH = 8 * 1024 * 1024

/**
 * `eth_subscribe` and `eth_unsubscribe` like geth's, over WebSocket only: `newHeads`, `logs`, `newPendingTransactions` if nodes have
 * WebSocket URLs, `newFlashblocks` and `pendingLogs` if a stream is followed. An additional last parameter `{"resume": last}` continues
 * after the client's last notification. `upfront_subscribe` to a `simulation` notifies whenever its outcome changes.
 */
export function subscriptionMethods(sources: SubscriptionSources): Map<string, RpcMethod> {
  const methods = new Map<string, RpcMethod>()
  const ofNode = sources.nodeUrls.length > 0 && nodeKinds(sources)
  for (const [namespace, kinds] of [
    ['eth', { ...headKinds(sources), ...ofNode, ...(sources.preconfirmed.enabled && streamKinds(sources)) }],
    ['upfront', simulationKinds(sources)],
  ] as const) {
    methods.set(`${namespace}_subscribe`, async (params, context) => {
      const [kind, ...more] = listOf(params)
      const subscriber = subscriberOf(context)
      if (typeof kind !== 'string')
        throw new RpcError(ErrorCode.invalidParams, 'params[0]: expected the name of a subscription')
      const open = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined
      if (open === undefined) throw unknownSubscription(kind, namespace, Object.keys(kinds))
      if (!sources.follows)
        throw new RpcError(ErrorCode.serverError, 'subscriptions and filters are not available: FOLLOW_HEAD is off')
      return JSON.stringify(await open(subscriber, more))
    })
    methods.set(`${namespace}_unsubscribe`, (params, context) => {
      const [id] = listOf(params)
      if (typeof id !== 'string' || !subscriberOf(context).unsubscribe(id))
        throw new RpcError(ErrorCode.serverError, 'subscription not found')
      return 'true'
    })
  }
  return methods
}

function headKinds({ chain }: SubscriptionSources): Record<string, Open> {
  return {
    newHeads: (subscriber, [options]) => {
      const known = headPosition(options)
      return subscriber.subscribe((notify, ended) => {
        const texts = ({ kind, block }: BlockChange) => (kind === 'added' ? [block.header] : [])
        const resumed = ([_, ...since]: readonly BlockChange[]) => replay(notify, since.flatMap(texts))
        return chain.announced.listen({ texts, notify, ended, resumed }, known)
      })
    },
    logs: (subscriber, [argument, options]) => {
      const passes = liveFilter(argument)
      const known = logPosition(options)
      const texts = (change: BlockChange, first?: LogPosition) =>
        logsOf(change, first).flatMap((log) =>
          passes(log) ? [change.kind === 'added' ? log.json : log.removedJson] : [],
        )
      return subscriber.subscribe((notify, ended) =>
        chain.announced.listen(
          {
            ...{ wantsLogs: true, texts, notify, ended },
            resumed: ([first, ...since]) =>
              replay(notify, [...texts(first!, known), ...since.flatMap((change) => texts(change))]),
          },
          known,
        ),
      )
    },
  }
}

/** A change's logs in the order in which they are sent. @param after the last log that the client knows */
function logsOf({ kind, block }: BlockChange, after?: LogPosition): readonly BlockLog[] {
  const isAdded = kind === 'added'
  const logs = isAdded ? block.logs : block.logs.toReversed()
  if (after === undefined) return logs
  const { logIndex } = after
  if (logIndex === undefined) return []
  return logs.filter(({ fields }) => {
    const index = BigInt(String(fields.logIndex))
    return isAdded ? index > logIndex : index < logIndex
  })
}

function streamKinds({ chain, preconfirmed }: SubscriptionSources): Record<string, Open> {
  const flashblocks = new Broadcast<{ number: bigint; payloadId: string; flashblock: number; text: string }>({
    most: MAX_FLASHBLOCKS_LENGTH,
    weigh: ({ text }) => text.length,
    lingerMs: LINGER_MS,
    begin: async (publish) => {
      let last: unknown
      return preconfirmed.onSnapshot((snapshot) => {
        const block = newestBlock(snapshot)
        // The same block, on a new snapshot.
        if (block === last) return
        last = block
        const { payloadId, index: flashblock, environment } = block
        const text = JSON.stringify({ ...presentPendingBlock(block, true), payloadId, flashblock })
        publish({ number: environment.number, payloadId, flashblock, text })
      })
    },
  })
  let unsealed = new UnsealedLogs(() => undefined)
  const pendingLogs = new Broadcast<UnsealedLog>({
    most: MAX_UNSEALED_LOGS,
    lingerMs: LINGER_MS,
    current: () => unsealed.current(),
    begin: async (publish, end) => {
      const logs = new UnsealedLogs(publish)
      unsealed = logs
      const leave = await chain.announced.listen({
        wantsLogs: true,
        added: (block) => logs.onSealed(block),
        removed: (block) => logs.onReorganised(block),
        ended: end,
      })
      const unlisten = preconfirmed.onSnapshot((snapshot) => logs.onSnapshot(snapshot))
      return () => {
        leave()
        unlisten()
      }
    },
  })
  return {
    newFlashblocks: (subscriber, [options]) => {
      const known = flashblockPosition(options)
      return subscriber.subscribe(async (notify, ended) =>
        resumable(
          await flashblocks.listen(
            (...events) => notify(...events.map(({ text }) => text)),
            (missed) =>
              replay(
                notify,
                missed.map(({ text }) => text),
              ),
            ended,
            known &&
              (({ number, payloadId, flashblock }) =>
                number === known.number && payloadId === known.payloadId && flashblock === known.flashblock),
          ),
        ),
      )
    },
    pendingLogs: (subscriber, [argument, options]) => {
      const passes = liveFilter(argument)
      const isLast = unsealedLogPosition(options)
      const texts = (logs: readonly UnsealedLog[]) => logs.filter(passes).map((log) => JSON.stringify(log))
      return subscriber.subscribe(async (notify, ended) =>
        resumable(
          await pendingLogs.listen(
            (...logs) => notify(...texts(logs)),
            (missed) => replay(notify, texts(missed)),
            ended,
            isLast,
          ),
        ),
      )
    },
  }
}

function resumable(leave: (() => void) | undefined): () => void {
  if (leave === undefined) throw unknownUnsealedPosition()
  return leave
}

function nodeKinds({ nodeUrls, chain }: SubscriptionSources): Record<string, Open> {
  const hashes = nodeTransactions(nodeUrls, chain, [])
  const full = nodeTransactions(nodeUrls, chain, [true])
  return {
    newPendingTransactions: (subscriber, [isFull = false]) => {
      if (typeof isFull !== 'boolean')
        throw new RpcError(ErrorCode.invalidParams, 'params[1]: expected true for whole transactions, or false')
      const transactions = isFull ? full : hashes
      return subscriber.subscribe(async (notify, ended) =>
        resumable(await transactions.listen(notify, () => undefined, ended)),
      )
    },
  }
}

function simulationKinds({ chain, preconfirmed }: SubscriptionSources): Record<string, Open> {
  return {
    simulation: (subscriber, params) => {
      const isPending = params[1] === 'pending'
      // Kept as text: parsed, a request takes many times the size counted for it. Numbers may be longer than the client wrote them.
      const text = JSON.stringify(params)
      return subscriber.subscribe(async (notify, ended) => {
        const watch = new WatchedSimulation(subscriber, text, notify)
        const leave = await chain.announced.listen({ added: () => void watch.run(), ended })
        const unlisten = isPending ? preconfirmed.onSnapshot(() => void watch.run()) : () => undefined
        void watch.run()
        return () => {
          watch.end()
          leave()
          unlisten()
        }
      }, text.length)
    },
  }
}

function subscriberOf({ subscriber }: RpcContext): Subscriber {
  if (subscriber !== undefined) return subscriber
  throw new RpcError(ErrorCode.methodNotFound, 'notifications not supported: subscribe over WebSocket')
}

/** geth's error (`rpc/errors.go`), with the available kinds. */
function unknownSubscription(kind: string, namespace: string, known: readonly string[]): RpcError {
  return new RpcError(
    ErrorCode.methodNotFound,
    `no "${kind.slice(0, 64)}" subscription in ${namespace} namespace: there are ${known.join(', ')}`,
  )
}
