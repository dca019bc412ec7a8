import type { ChainRules } from '@upfront/simulation'

/** What the gateway asks of the chain beside simulations. */
export abstract class Chain {
  abstract rules(signal: AbortSignal): Promise<ChainRules>
  /** The newest canonical block, from the upstream, `timestamp` in seconds. */
  abstract head(signal: AbortSignal): Promise<{ number: bigint; timestamp: bigint }>
  /** Passes a call on to the upstream node. */
  abstract request(method: string, params: readonly unknown[], signal: AbortSignal): Promise<unknown>
  abstract close(): Promise<void>
}
