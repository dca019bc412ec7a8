import { decodeInteger, decodeObject, decodeString, type JsonObject, refuseUnknownFields } from '../decode/fields.js'

/** Characters of an answer that is kept beside its payment. */
export const MOST_ANSWER_CHARACTERS = 96 * 1024
const LONGEST_SECONDS = 24 * 3_600

/** A seller's answer that waits for its payment, kept so that each process of the seller can give it. */
export interface KeptAnswer {
  /** As the seller writes it: billing does not read it. */
  answer: string
  /** For how long, from now. */
  seconds: number
}

/** Throws `DecodeError`. */
export function decodeKeptAnswer(value: unknown): KeptAnswer {
  const object = decodeObject(value, 'body')
  refuseUnknownFields(object, '', ['answer', 'seconds'])
  return {
    answer: decodeString(object.answer, 'answer', MOST_ANSWER_CHARACTERS),
    seconds: decodeInteger(object.seconds, 'seconds', 1, LONGEST_SECONDS),
  }
}

/** What is found of one. Throws `DecodeError`. */
export function decodeFoundAnswer(value: unknown): string {
  return decodeString(decodeObject(value, 'body').answer, 'answer', MOST_ANSWER_CHARACTERS)
}

export function encodeFoundAnswer(answer: string): JsonObject {
  return { answer }
}
