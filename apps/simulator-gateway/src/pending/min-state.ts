import { Injectable } from '@nestjs/common'
import { Chain, newestBlock, Preconfirmed } from '@upfront/chain'
import { ErrorCode, RpcError } from '@upfront/protocol'
import { FIXED } from '../environment/fixed.js'
import { Overloaded } from '../limits/refused.js'
import { RequestView } from './request-view.js'

/** The request header, of a WebSocket also the query's parameter, that asks for a state at least as new as one that the client has seen, or as the node's newest: `fresh`. */
export const MIN_STATE_HEADER = 'upfront-min-state'

const LOOK_EVERY_MS = 10
/** As the response header `upfront-state` has them, other fields left aside. */
const BLOCK = /(?:^|; ?)block=(\d{1,20})(?:;|$)/
const FLASHBLOCK = /(?:^|; ?)flashblock=(\d{1,6})(?:;|$)/

const FRESH = 'fresh'
const FRESH_TIMEOUT_MS = 5_000

interface WantedState {
  block: bigint
  /** Absent: the block as it was sealed. */
  flashblock?: number
}

/** Lets requests that name a state wait until this replica has it: a client may have seen it at another. */
@Injectable()
export class MinState {
  constructor(
    private readonly chain: Chain,
    private readonly preconfirmed: Preconfirmed,
  ) {}

  /**
   * What waits for a state of this name. Requests stand on it, or a newer one, once that is done.
   * @throws RpcError -32600 (HTTP 400) where it names none. The wait rejects with Overloaded where that is not reached in time, and with what
   * asking the node for its head fails with
   */
  waitingFor(name: string): () => Promise<unknown> {
    if (name === FRESH)
      return async () => this.chain.resolver.askHead({ deadline: performance.now() + FRESH_TIMEOUT_MS })
    const wanted = wantedState(name)
    return () => this.reached(wanted)
  }

  private async reached(wanted: WantedState): Promise<void> {
    const { minStateWaitMs: timeoutMs } = FIXED
    const deadline = performance.now() + timeoutMs
    while (!(await this.has(wanted, deadline))) {
      if (performance.now() >= deadline) {
        const state = `block ${wanted.block}${wanted.flashblock === undefined ? '' : `, flashblock ${wanted.flashblock}`}`
        throw new Overloaded(`${MIN_STATE_HEADER}: this replica has not reached ${state} within ${timeoutMs} ms`)
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
  }

  private async has({ block, flashblock }: WantedState, deadline: number): Promise<boolean> {
    const snapshot = this.preconfirmed.enabled ? this.preconfirmed.snapshotFor(new RequestView()) : undefined
    if (snapshot !== undefined && flashblock !== undefined) {
      const { environment, index } = newestBlock(snapshot)
      if (environment.number > block || (environment.number === block && index >= flashblock)) return true
    }
    // Requests stand on this head, or a newer one, from now on.
    const signal = AbortSignal.timeout(Math.max(1, Math.ceil(deadline - performance.now())))
    try {
      return (await this.chain.resolver.head({ signal })).number >= block
    } catch (error) {
      if (signal.aborted) return false
      throw error
    }
  }
}

/** @throws RpcError -32600 (HTTP 400) */
function wantedState(header: string): WantedState {
  const block = BLOCK.exec(header)?.[1] ?? /^\d{1,20}$/.exec(header)?.[0]
  if (block === undefined) {
    const expected = 'expected `fresh`, a block number, or what `upfront-state` said, such as `latest; block=104`'
    throw new RpcError(ErrorCode.invalidRequest, `${MIN_STATE_HEADER}: ${expected}`, undefined, 400)
  }
  const flashblock = FLASHBLOCK.exec(header)?.[1]
  return { block: BigInt(block), ...(flashblock !== undefined && { flashblock: Number(flashblock) }) }
}
