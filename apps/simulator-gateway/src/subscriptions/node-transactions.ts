import { NodeSubscription } from '@upfront/chain'
import { ErrorCode, RpcError } from '@upfront/protocol'
import { Broadcast } from './broadcast.js'

/** A connection without any transaction for so long is made anew. */
const SILENCE_MS = 300_000
/** Characters of JSON that wait to be told. */
const MOST_LENGTH = 8 * 1024 * 1024

/**
 * The transactions that wait at the node, as its `newPendingTransactions` tells of them, passed on as JSON.
 * @param urls of nodes; each further one is tried where those before refuse or can't be reached
 * @param params of the subscription: `[true]` for whole transactions
 */
export function nodeTransactions(urls: readonly string[], params: unknown[]): Broadcast<string> {
  return new Broadcast({
    most: MOST_LENGTH,
    weigh: (transaction) => transaction.length,
    // A node has no positions to resume from.
    mostKept: 0,
    lingerMs: 0,
    begin: async (publish) => {
      let refusal = ''
      for (const url of urls) {
        const opened = await subscribe(url, params, publish)
        if (typeof opened !== 'string') return opened
        refusal = opened
      }
      throw new RpcError(
        ErrorCode.methodNotFound,
        `no "newPendingTransactions" subscription in eth namespace: the node does not serve it (${refusal})`,
      )
    },
  })
}

/** @returns what ends it, or why the node does not serve it */
function subscribe(
  url: string,
  params: unknown[],
  publish: (transaction: string) => void,
): Promise<(() => void) | string> {
  return new Promise((resolve) => {
    let isServed = false
    const subscription = new NodeSubscription({
      url,
      params: ['newPendingTransactions', ...params],
      silenceMs: () => SILENCE_MS,
      onResult: (result) => publish(JSON.stringify(result ?? null)),
      onSubscribed: () => {
        isServed = true
        resolve(() => subscription.close())
      },
      // Once the node has served it, the next attempt follows by itself.
      onLost: (reason) => {
        if (isServed) return
        subscription.close()
        resolve(reason)
      },
    })
  })
}
