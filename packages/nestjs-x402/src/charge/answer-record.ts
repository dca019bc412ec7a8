import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { AnswerKey } from '../hold/answer-store.js'
import type { HttpAnswer } from '../hold/http-answer.js'
import type { Charge } from './charge.js'

const pack = promisify(gzip)
const unpack = promisify(gunzip)

/** Limit for an unpacked record. Records are written by the seller's processes but stored by others. */
const MAX_BYTES = 64 * 1024 * 1024

/** An answer that waits for its payment, as the seller's processes exchange it. */
export interface AnswerRecord extends Pick<AnswerKey, 'payload' | 'request'> {
  charge: Pick<Charge, 'amount' | 'reason'>
  answer: HttpAnswer
}

export async function writeAnswerRecord({ payload, request, charge, answer }: AnswerRecord): Promise<string> {
  const { body, ...head } = answer
  const { amount, reason } = charge
  const record = { payload, request, amount: amount.toString(), reason, ...head, body: body.toString('base64') }
  return (await pack(JSON.stringify(record))).toString('base64')
}

/** Returns undefined if the text is no record, for example one of another version. */
export async function readAnswerRecord(text: string): Promise<AnswerRecord | undefined> {
  try {
    const bytes = await unpack(Buffer.from(text, 'base64'), { maxOutputLength: MAX_BYTES })
    const { payload, request, amount, reason, status, headers, body } = JSON.parse(bytes.toString())
    const isOne = [payload, request, reason, body].every((part) => typeof part === 'string')
    if (!isOne || typeof headers !== 'object' || !Number.isInteger(status)) return undefined
    const answer = { status, headers, body: Buffer.from(body, 'base64') }
    return { payload, request, charge: { amount: BigInt(amount), reason }, answer }
  } catch {
    return undefined
  }
}
