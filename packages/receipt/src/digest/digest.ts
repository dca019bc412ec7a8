import type { Hash } from '@upfront/protocol'
import type { InspectedBlock } from '@upfront/simulation'
import { gasByCall } from '../bill/gas.js'
import { jsonHash } from '../json-hash.js'
import { previewOf } from '../preview/preview.js'
import type { ReceiptBlock } from '../receipt.js'

/** What a receipt states about a JSON text. */
export interface Digest {
  /** See `jsonHash`. For a preview: the hash of the preview. */
  hash: Hash
  /** Gas of each call of a simulation's result; otherwise empty. */
  gas: string[]
  /** JSON of the preview, if one was requested. */
  preview?: string
}

/** JSON as a string or as UTF-8. */
export type JsonText = string | Uint8Array

/** Kind of the text: a simulation's `result`, any other value, or a result from which a preview is made. */
export type DigestKind = 'result' | 'value' | { preview: Pick<ReceiptBlock, 'state' | 'flashblock'> }

export function digest(kind: DigestKind, json: JsonText): Digest {
  const value: unknown = JSON.parse(typeof json === 'string' ? json : new TextDecoder().decode(json))
  if (kind === 'value') return { hash: jsonHash(value), gas: [] }
  const blocks = value as InspectedBlock[]
  const gas = gasByCall(blocks)
  if (kind === 'result') return { hash: jsonHash(value), gas }
  const preview = previewOf(blocks, kind.preview)
  return { hash: jsonHash(preview), gas, preview: JSON.stringify(preview) }
}
