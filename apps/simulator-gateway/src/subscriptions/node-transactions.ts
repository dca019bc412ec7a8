import { type Chain, NodeSubscription } from '@upfront/chain'
import { ErrorCode, RpcError } from '@upfront/protocol'
import { Broadcast } from './broadcast.js'

/** A connection without any transaction for this long is replaced. */
const SILENCE_MS = 300_000
/** Most undelivered transactions, in characters of JSON. */
const MAX_LENGTH = 8 * 1024 * 1024

/**
 * Pending transactions as the node's `newPendingTransactions` reports them, passed on as JSON.
 * @param urls of nodes, tried in order until one serves the subscription
 * @param chain the served chain: URLs of others are not used
 * @param params of the subscription: `[true]` for full transactions
 */
export function nodeTransactions(
  urls: readonly string[],
  chain: Pick<Chain, 'knownChainId'>,
  params: unknown[],
): Broadcast<string> {
  return new Broadcast({
    most: MAX_LENGTH,
    weigh: (transaction) => transaction.length,
    // There is no position that a node could resume from.
    maxKept: 0,
    lingerMs: 0,
    begin: async (publish) => {
      let refusal = ''
      for (const url of urls) {
        const opened = await subscribe(url, chain, params, publish)
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

/** @returns a function that ends the subscription, or the reason why the node does not serve it */
function subscribe(
  url: string,
  chain: Pick<Chain, 'knownChainId'>,
  params: unknown[],
  publish: (transaction: string) => void,
): Promise<(() => void) | string> {
  return new Promise((resolve) => {
    let isServed = false
    const subscription = new NodeSubscription({
      url,
      chainId: () => chain.knownChainId,
      params: ['newPendingTransactions', ...params],
      silenceMs: () => SILENCE_MS,
      onResult: (result) => publish(JSON.stringify(result ?? null)),
      onSubscribed: () => {
        isServed = true
        resolve(() => subscription.close())
      },
      // If the node has served it before, the subscription reconnects on its own.
      onLost: (reason) => {
        if (isServed) return
        subscription.close()
        resolve(reason)
      },
    })
  })
}
