import type { Hash } from '@upfront/protocol'
import type { InspectedBlock } from '@upfront/simulation'
import { gasByCall } from '../bill/gas.js'
import { jsonHash } from '../json-hash.js'
import { previewOf } from '../preview/preview.js'
import type { ReceiptBlock } from '../receipt.js'

/** What a receipt says of a JSON text. */
export interface Digest {
  /** See `jsonHash`; of a preview, its own. */
  hash: Hash
  /** Of a simulation's result: the gas of each call; else empty. */
  gas: string[]
  /** The JSON of the preview, where one was asked for. */
  preview?: string
}

/** JSON, as text or its UTF-8. */
export type JsonText = string | Uint8Array

/** What the text is: a simulation's `result`, any other value, or a result of which a preview is made. */
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
