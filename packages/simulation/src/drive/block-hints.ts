import {
  type CallQueue,
  decodeFixedBytes,
  decodeWord,
  malformed,
  type UpstreamCall,
  type UpstreamClient,
  UpstreamError,
} from '@upfront/node'
import { type Address, type BlockHeader, type Hash, toQuantity } from '@upfront/protocol'
import type { Engine } from '../engine/engine.js'
import { readKey, type StateRead } from '../engine/state.js'
import type { PinnedState } from './pinned-state.js'
import type { StateReads } from './state-reads.js'
import { accountReads, asObject, type OnLack, touchedInPrestate } from './touch-hints.js'
import { isUnserved, Unserved } from './unserved.js'

/** Executing a block that lacks less needs no hint. */
const LEAST_LACKING = 32
const MOST_TOUCHED = 50_000
const HINT_BYTES = 32 * 1024 * 1024
/** Longer than any block's interval is worth: the block is executed without it. */
const HINT_MS = 10_000
/** Of a refusal. */
const REFUSAL_BYTES = 4 * 1024

const KINDS = ['debug_traceBlockByHash', 'debug_executionWitness'] as const
type Kind = (typeof KINDS)[number]

/**
 * What executing a whole block reads, as a node names it in one answer: a trace by the prestate tracer, or an execution witness where that is
 * not served. Only names are taken from it, and nothing depends on it: the block is executed meanwhile. Whether a node serves them it says
 * beside the first reads, to calls without params: those cost it nothing, and no HTTP request of their own.
 */
export class BlockHints {
  readonly #client: Pick<UpstreamClient, 'call'>
  readonly #queue: Pick<CallQueue, 'send'>
  readonly #reads: Pick<StateReads, 'askAhead'>
  readonly #engine: Pick<Engine, 'missing'>
  readonly #unserved: Unserved<Kind>
  readonly #served = new Set<Kind>()
  readonly #asksNode: boolean

  constructor(
    client: Pick<UpstreamClient, 'call'>,
    queue: Pick<CallQueue, 'send'>,
    reads: Pick<StateReads, 'askAhead'>,
    engine: Pick<Engine, 'missing'>,
    onWorkaround: (lacks: string) => void,
    asksNode: boolean,
  ) {
    this.#client = client
    this.#queue = queue
    this.#reads = reads
    this.#engine = engine
    this.#unserved = new Unserved(onWorkaround)
    this.#asksNode = asksNode
  }

  /**
   * Has all that the node names read at once, where much is lacking: in the first round, or in the one after the node said that it serves it.
   * @param header of the block @param at its parent's state
   */
  onLack(header: BlockHeader, at: PinnedState): OnLack {
    let isAsked = false
    let reading: Promise<unknown> | undefined
    return (lacking) => {
      const kind = KINDS.find((each) => !this.#unserved.has(each))
      if (!isAsked && this.#asksNode && lacking.length >= LEAST_LACKING && kind !== undefined) {
        if (this.#served.has(kind)) {
          isAsked = true
          this.#touched(kind, header).then(
            (touched) => {
              reading = this.#read(touched, at)
            },
            () => undefined,
          )
        } else for (const unknown of KINDS) void this.#probe(unknown)
      }
      return () => reading
    }
  }

  /** Whether the node serves this. Never rejects. */
  async #probe(kind: Kind): Promise<void> {
    if (this.#served.has(kind) || this.#unserved.has(kind)) return
    const call = { method: kind, params: [], decode: () => undefined, maxBytes: REFUSAL_BYTES, attempts: 1 }
    const outcome = await this.#queue.send(call).catch(() => undefined)
    if (outcome === undefined) return
    if ('value' in outcome || (outcome.error.fault.kind === 'rpc-error' && !isUnserved(outcome.error.fault)))
      this.#served.add(kind)
    else if (isUnserved(outcome.error.fault)) this.#unserved.note(kind)
  }

  async #touched(kind: Kind, header: BlockHeader): Promise<StateRead[]> {
    try {
      return await this.#client.call(hintOf(kind, header), { deadline: performance.now() + HINT_MS })
    } catch (error) {
      if (!(error instanceof UpstreamError && isUnserved(error.fault))) return []
      this.#served.delete(kind)
      this.#unserved.note(kind)
      return []
    }
  }

  /** Never rejects. */
  #read(touched: StateRead[], { block, key }: PinnedState): Promise<unknown> | undefined {
    const reads = new Map(touched.slice(0, MOST_TOUCHED).map((read) => [readKey(read), read]))
    const missing = this.#engine.missing(key, [...reads.values()])
    if (missing.length === 0) return undefined
    const asked = this.#reads.askAhead(block, missing)
    // What fails is read when it is needed.
    return asked.outcomes.catch(() => undefined).finally(() => asked.leave())
  }
}

function hintOf(kind: Kind, { hash, number }: BlockHeader): UpstreamCall<StateRead[]> {
  const call = { method: kind, maxBytes: HINT_BYTES, attempts: 1, attemptTimeoutMs: HINT_MS, pace: 'slow' as const }
  switch (kind) {
    case 'debug_traceBlockByHash': {
      const options = { tracer: 'prestateTracer', tracerConfig: { disableCode: true }, timeout: '5s' }
      return { ...call, params: [hash, options], decode: touchedInTraces }
    }
    case 'debug_executionWitness':
      return { ...call, params: [toQuantity(number)], decode: touchedInWitness }
  }
}

function touchedInTraces(result: unknown): StateRead[] {
  return asList(result).flatMap((trace) => {
    const { result: prestate } = asObject(trace)
    return prestate === undefined ? [] : touchedInPrestate(prestate)
  })
}

/** Its `keys` are what was hashed into the tries: each account's address, and after it its slots. */
function touchedInWitness(result: unknown): StateRead[] {
  const { keys } = asObject(result)
  let address: Address | undefined
  return asList(keys).flatMap((key): StateRead[] => {
    if (typeof key !== 'string') throw malformed('bytes', key)
    if (key.length === '0x'.length + 40) {
      address = decodeFixedBytes(key, 20)
      return accountReads(address)
    }
    return address === undefined ? [] : [{ kind: 'storage', address, slot: decodeWord(key) as Hash }]
  })
}

function asList(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw malformed('a list', value)
  return value
}
