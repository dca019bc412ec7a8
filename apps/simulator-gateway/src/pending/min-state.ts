import { setTimeout as sleep } from 'node:timers/promises'
import { Injectable } from '@nestjs/common'
import { Chain, newestBlock, Preconfirmed } from '@upfront/chain'
import { raceAbort } from '@upfront/node'
import { FIXED } from '../environment/fixed.js'
import { Overloaded, refused } from '../limits/refused.js'
import { RequestView } from './request-view.js'

/** Request header, or WebSocket query parameter: waits for a state at least as new as the one named, or as the node's newest (`fresh`). */
export const MIN_STATE_HEADER = 'upfront-min-state'

const POLL_MS = 10
/** Fields of the response header `upfront-state`; the others are ignored. */
const BLOCK = /(?:^|; ?)block=(\d{1,20})(?:;|$)/
const FLASHBLOCK = /(?:^|; ?)flashblock=(\d{1,6})(?:;|$)/

const FRESH = 'fresh'
const FRESH_TIMEOUT_MS = 5_000

interface WantedState {
  block: bigint
  /** Absent: the sealed block is wanted. */
  flashblock?: number
}

/** Makes requests wait until this replica has the state that they name: the client may have seen it on another replica. */
@Injectable()
export class MinState {
  private fetching: Promise<bigint> | undefined
  private next: Promise<bigint> | undefined

  constructor(
    private readonly chain: Chain,
    private readonly preconfirmed: Preconfirmed,
  ) {}

  /**
   * Parses a state's name.
   * @returns a function that waits until requests here are answered on that state or a newer one. It rejects with Overloaded on time-out,
   * or with the error of asking the node for its head
   * @throws RpcError -32600 (HTTP 400) if the name is not valid
   */
  createWait(name: string): () => Promise<unknown> {
    if (name === FRESH)
      return async () => this.chain.resolver.askHead({ deadline: performance.now() + FRESH_TIMEOUT_MS })
    const wanted = parseWantedState(name)
    return () => this.awaitState(wanted)
  }

  private async awaitState(wanted: WantedState): Promise<void> {
    const { minStateWaitMs: timeoutMs } = FIXED
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      if (this.hasState(wanted)) return
      let head = this.head()
      while ((await raceAbort(head, signal)) < wanted.block && !this.hasState(wanted)) head = this.nextHead()
    } catch (error) {
      if (!signal.aborted) throw error
      const state = `block ${wanted.block}${wanted.flashblock === undefined ? '' : `, flashblock ${wanted.flashblock}`}`
      throw new Overloaded(`${MIN_STATE_HEADER}: this replica has not reached ${state} within ${timeoutMs} ms`)
    }
  }

  private hasState({ block, flashblock }: WantedState): boolean {
    const snapshot = this.preconfirmed.enabled ? this.preconfirmed.snapshotFor(new RequestView()) : undefined
    if (snapshot === undefined || flashblock === undefined) return false
    const { environment, index } = newestBlock(snapshot)
    return environment.number > block || (environment.number === block && index >= flashblock)
  }

  /** Number of the head: requests use it, or a newer one, from now on. Concurrent callers share one look-up. */
  private head(): Promise<bigint> {
    this.fetching ??= this.fetchHead().finally(() => {
      this.fetching = undefined
    })
    return this.fetching
  }

  /** Like `head`, after `LOOK_EVERY_MS`; shared by all that wait. */
  private nextHead(): Promise<bigint> {
    this.next ??= this.sleepThenFetch()
    return this.next
  }

  private async sleepThenFetch(): Promise<bigint> {
    await sleep(POLL_MS)
    this.next = undefined
    return this.head()
  }

  private async fetchHead(): Promise<bigint> {
    const deadline = performance.now() + FIXED.minStateWaitMs
    return (await this.chain.resolver.head({ deadline })).number
  }
}

/** @throws RpcError -32600 (HTTP 400) */
function parseWantedState(header: string): WantedState {
  const block = BLOCK.exec(header)?.[1] ?? /^\d{1,20}$/.exec(header)?.[0]
  if (block === undefined) {
    const expected =
      'expected `fresh`, a block number, or a value of the `upfront-state` header, such as `latest; block=104`'
    throw refused(400, `${MIN_STATE_HEADER}: ${expected}`)
  }
  const flashblock = FLASHBLOCK.exec(header)?.[1]
  return { block: BigInt(block), ...(flashblock !== undefined && { flashblock: Number(flashblock) }) }
}
