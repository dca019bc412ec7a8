import { newestBlock, type PreconfirmedSnapshot } from '@upfront/chain'
import type { PinnedBlock } from '@upfront/simulation'

/** The response header that names the state of an answer. */
export const STATE_HEADER = 'upfront-state'

/** The state of an answer: a sealed block, a block under construction up to a flashblock, or a position in either. */
export type AnswerState = (
  | {
      kind: 'latest'
      block: bigint
      /** Milliseconds since the followed head was first seen; absent if the node was asked for this answer. */
      ageMs?: number
      /** Whether its state was carried over from its parent. */
      isCarried?: boolean
    }
  | {
      kind: 'preconfirmed'
      /** The block under construction. */
      block: bigint
      flashblock: number
      /** Milliseconds since the flashblock arrived. */
      ageMs: number
      payloadId: string
    }
) & {
  /** For a position: how many of the block's transactions precede it. */
  transactionIndex?: number
}

export function answerStateOf(snapshot: PreconfirmedSnapshot): AnswerState {
  const { environment, index, payloadId } = newestBlock(snapshot)
  const ageMs = Date.now() - snapshot.receivedAt
  return { kind: 'preconfirmed', block: environment.number, flashblock: index, ageMs, payloadId }
}

/** `preconfirmed; block=105; flashblock=3; age=120; payload=0x…`, `latest; block=104` or `latest; block=104; age=1200; state=carried`. */
export function answerStateToHeader(answerState: AnswerState): string {
  const { block, transactionIndex } = answerState
  const at = transactionIndex === undefined ? '' : `; transactionIndex=${transactionIndex}`
  if (answerState.kind === 'latest') {
    const age = answerState.ageMs === undefined ? '' : `; age=${answerState.ageMs}`
    return `latest; block=${block}${at}${age}${answerState.isCarried ? '; state=carried' : ''}`
  }
  const { flashblock, ageMs, payloadId } = answerState
  return `preconfirmed; block=${block}; flashblock=${flashblock}${at}; age=${ageMs}; payload=${payloadId}`
}

/** The state of an answer on a sealed block. */
export function latestState({ header, seenAt }: PinnedBlock, isCarried: boolean): AnswerState {
  if (seenAt === undefined) return { kind: 'latest', block: header.number }
  return { kind: 'latest', block: header.number, ageMs: Math.round(performance.now() - seenAt), isCarried }
}

/** The inverse of `answerStateToHeader`. */
export function answerStateFromHeader(header: string): AnswerState {
  const [kind, ...pairs] = header.split('; ')
  const fields = new Map(pairs.map((pair) => pair.split('=') as [string, string]))
  const block = BigInt(fields.get('block') ?? 0)
  const age = fields.get('age')
  if (kind !== 'preconfirmed') {
    const isCarried = fields.get('state') === 'carried'
    return { kind: 'latest', block, ...(age !== undefined && { ageMs: Number(age) }), ...(isCarried && { isCarried }) }
  }
  return {
    kind,
    block,
    flashblock: Number(fields.get('flashblock')),
    ageMs: Number(age),
    payloadId: fields.get('payload') ?? '',
  }
}
