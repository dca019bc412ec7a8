import type { Frame } from '../engine/call-record.js'
import { haltMessage } from '../present/halt-message.js'
import { gethMessage } from '../present/present-failure.js'

/** Why a frame failed, as geth says it; undefined where it did not. */
export function failureWords({ halt, reverted, output }: Frame): string | undefined {
  if (halt !== undefined) return haltMessage(halt)
  return reverted ? gethMessage(output) : undefined
}
