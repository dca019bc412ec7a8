import { newestBlock, type PreconfirmedSnapshot } from '@upfront/preconfirmed'

/** The response header that says what an answer stands on. */
export const STATE_HEADER = 'upfront-state'

/** What an answer stands on: a sealed block, or a block under construction as of one flashblock. */
export type AnswerState =
  | { kind: 'latest'; block: bigint }
  | {
      kind: 'preconfirmed'
      /** The block under construction. */
      block: bigint
      flashblock: number
      /** Milliseconds since the flashblock came in. */
      ageMs: number
      payloadId: string
    }

export function answerStateOf(snapshot: PreconfirmedSnapshot): AnswerState {
  const { environment, index, payloadId } = newestBlock(snapshot)
  const ageMs = Date.now() - snapshot.receivedAt
  return { kind: 'preconfirmed', block: environment.number, flashblock: index, ageMs, payloadId }
}

/** `preconfirmed; block=105; flashblock=3; age=120; payload=0x…` or `latest; block=104`. */
export function answerStateToHeader(answerState: AnswerState): string {
  if (answerState.kind === 'latest') return `latest; block=${answerState.block}`
  const { block, flashblock, ageMs, payloadId } = answerState
  return `preconfirmed; block=${block}; flashblock=${flashblock}; age=${ageMs}; payload=${payloadId}`
}

/** Reads what `answerStateToHeader` wrote. */
export function answerStateFromHeader(header: string): AnswerState {
  const [kind, ...pairs] = header.split('; ')
  const fields = new Map(pairs.map((pair) => pair.split('=') as [string, string]))
  const block = BigInt(fields.get('block') ?? 0)
  if (kind !== 'preconfirmed') return { kind: 'latest', block }
  return {
    kind,
    block,
    flashblock: Number(fields.get('flashblock')),
    ageMs: Number(fields.get('age')),
    payloadId: fields.get('payload') ?? '',
  }
}
