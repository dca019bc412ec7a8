import { decodeInteger, decodeObject, decodeString, type JsonObject, refuseUnknownFields } from '../decode/fields.js'

/** Most characters of an answer kept for a payment. */
export const MAX_ANSWER_CHARACTERS = 96 * 1024
const MAX_SECONDS = 24 * 3_600

/** A seller's answer that waits for its payment, kept so that every process of the seller can return it. */
export interface KeptAnswer {
  /** In the seller's format, opaque to billing. */
  answer: string
  /** How long to keep it, from now. */
  seconds: number
}

/** @throws DecodeError */
export function decodeKeptAnswer(value: unknown): KeptAnswer {
  const object = decodeObject(value, 'body')
  refuseUnknownFields(object, '', ['answer', 'seconds'])
  return {
    answer: decodeString(object.answer, 'answer', MAX_ANSWER_CHARACTERS),
    seconds: decodeInteger(object.seconds, 'seconds', 1, MAX_SECONDS),
  }
}

/** Decodes the response with a kept answer. @throws DecodeError */
export function decodeFoundAnswer(value: unknown): string {
  return decodeString(decodeObject(value, 'body').answer, 'answer', MAX_ANSWER_CHARACTERS)
}

export function encodeFoundAnswer(answer: string): JsonObject {
  return { answer }
}
