import {
  type CallQueue,
  decodeFixedBytes,
  decodeWord,
  malformed,
  type UpstreamCall,
  type UpstreamClient,
} from '@upfront/node'
import { type Address, type BlockHeader, type Hash, toQuantity } from '@upfront/protocol'
import { readKey, type StateRead } from '../engine/state.js'
import type { PinnedState } from './pinned-state.js'
import type { BlockReference } from './read-call.js'
import type { StateReads } from './state-reads.js'
import {
  accessListHint,
  accountReads,
  asObject,
  type HintedCall,
  type OnLack,
  touchedInPrestate,
} from './touch-hints.js'
import { isUnserved, Unserved } from './unserved.js'

/** Fewer missing values than this need no hint. */
const MIN_MISSING = 32
const MAX_TOUCHED = 50_000
const HINT_BYTES = 32 * 1024 * 1024
/** Timeout; the block is executed without the hint. */
const HINT_MS = 10_000
/** Response limit for a refusal. */
const REFUSAL_BYTES = 4 * 1024
/** Limit of transactions per block whose access lists are requested: those with the most gas. */
const MAX_LISTED = 64
/** Transactions with longer input are not sent. */
const MAX_INPUT_DIGITS = 16_384

const KINDS = ['debug_traceBlockByHash', 'debug_executionWitness', 'eth_createAccessList'] as const
type Kind = (typeof KINDS)[number]

/**
 * Finds out what executing a whole block reads: by one prestate trace of the block, else by an execution witness, else by access lists of
 * its transactions on the parent's state. Only addresses and slots are taken from the answer, to read them ahead; correctness never depends
 * on it. Whether the node serves a method is found out by calling it without params, batched with the first reads, at no extra HTTP
 * request.
 */
export class BlockHints {
  readonly #client: Pick<UpstreamClient, 'batch'>
  readonly #queue: Pick<CallQueue, 'send'>
  readonly #reads: Pick<StateReads, 'askAhead' | 'reference'>
  readonly #unserved: Unserved<Kind>
  readonly #served = new Set<Kind>()
  readonly #asksNode: boolean

  constructor(
    client: Pick<UpstreamClient, 'batch'>,
    queue: Pick<CallQueue, 'send'>,
    reads: Pick<StateReads, 'askAhead' | 'reference'>,
    onWorkaround: (lacks: string) => void,
    asksNode: boolean,
  ) {
    this.#client = client
    this.#queue = queue
    this.#reads = reads
    this.#unserved = new Unserved(onWorkaround)
    this.#asksNode = asksNode
  }

  /**
   * Reads ahead everything that the node names if many values are missing: in round 1, or in the round after the node showed that it serves
   * it.
   * @param header of the block @param calls its transactions @param at its parent's state
   */
  onLack(header: BlockHeader, calls: () => HintedCall['call'][], at: PinnedState): OnLack {
    let isAsked = false
    let reading: Promise<unknown> | undefined
    return (lacking) => {
      const kind = KINDS.find((each) => !this.#unserved.has(each))
      if (!isAsked && this.#asksNode && lacking.length >= MIN_MISSING && kind !== undefined) {
        if (this.#served.has(kind)) {
          isAsked = true
          this.#touched(kind, header, calls, at).then(
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

  /** Finds out whether the node serves the method. Never rejects. */
  async #probe(kind: Kind): Promise<void> {
    if (this.#served.has(kind) || this.#unserved.has(kind)) return
    const call = { method: kind, params: [], decode: () => undefined, maxBytes: REFUSAL_BYTES, attempts: 1 }
    const outcome = await this.#queue.send(call).catch(() => undefined)
    if (outcome === undefined) return
    if ('value' in outcome || (outcome.error.fault.kind === 'rpc-error' && !isUnserved(outcome.error.fault)))
      this.#served.add(kind)
    else if (isUnserved(outcome.error.fault)) this.#unserved.note(kind)
  }

  async #touched(
    kind: Kind,
    header: BlockHeader,
    calls: () => HintedCall['call'][],
    at: PinnedState,
  ): Promise<StateRead[]> {
    const hints = hintsOf(kind, header, calls(), this.#reads.reference(at.block))
    const outcomes = await this.#client.batch(hints, { deadline: performance.now() + HINT_MS })
    if (outcomes.some((outcome) => 'error' in outcome && isUnserved(outcome.error.fault))) {
      this.#served.delete(kind)
      this.#unserved.note(kind)
    }
    return outcomes.flatMap((outcome) => ('value' in outcome ? outcome.value : []))
  }

  #read(touched: StateRead[], at: PinnedState): Promise<unknown> | undefined {
    const reads = new Map(touched.slice(0, MAX_TOUCHED).map((read) => [readKey(read), read]))
    return this.#reads.askAhead(at, [...reads.values()])
  }
}

function hintsOf(
  kind: Kind,
  { hash, number }: BlockHeader,
  calls: readonly HintedCall['call'][],
  at: BlockReference,
): UpstreamCall<StateRead[]>[] {
  const call = { method: kind, maxBytes: HINT_BYTES, attempts: 1, attemptTimeoutMs: HINT_MS, pace: 'slow' as const }
  switch (kind) {
    case 'debug_traceBlockByHash': {
      const options = { tracer: 'prestateTracer', tracerConfig: { disableCode: true }, timeout: '5s' }
      return [{ ...call, params: [hash, options], decode: touchedInTraces }]
    }
    case 'debug_executionWitness':
      return [{ ...call, params: [toQuantity(number)], decode: touchedInWitness }]
    case 'eth_createAccessList':
      return calls
        .filter(({ to, input }) => to !== null && input !== '0x' && input.length < MAX_INPUT_DIGITS)
        .sort((one, other) => Number(other.gas! - one.gas!))
        .slice(0, MAX_LISTED)
        .map((call) => accessListHint({ call, overrides: [] }, at, false)!)
  }
}

function touchedInTraces(result: unknown): StateRead[] {
  return asList(result).flatMap((trace) => {
    const { result: prestate } = asObject(trace)
    return prestate === undefined ? [] : touchedInPrestate(prestate)
  })
}

/** `keys` are the preimages of trie keys: each account's address, followed by its slots. */
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
