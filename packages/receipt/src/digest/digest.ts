import type { Hash, SimulatedBlock } from '@upfront/protocol'
import { gasByCall } from '../bill/gas-by-call.js'
import { jsonHash } from '../json-hash.js'

/** What a receipt says of a JSON text. */
export interface Digest {
  /** See `jsonHash`. */
  hash: Hash
  /** Of a simulation's result: the gas of each call; else empty. */
  gas: string[]
}

/** JSON, as text or its UTF-8. */
export type JsonText = string | Uint8Array

export type DigestKind = 'result' | 'witness'

/** @param json a simulation's `result`, or a witness */
export function digest(kind: DigestKind, json: JsonText): Digest {
  const value: unknown = JSON.parse(typeof json === 'string' ? json : new TextDecoder().decode(json))
  return { hash: jsonHash(value), gas: kind === 'result' ? gasByCall(value as SimulatedBlock[]) : [] }
}
