import type { Frame } from '../engine/call-record.js'
import { haltMessage } from '../present/halt-message.js'
import { gethMessage } from '../present/present-failure.js'

/** geth's message for a failed frame; undefined if it succeeded. */
export function failureMessage({ halt, reverted, output }: Frame): string | undefined {
  if (halt !== undefined) return haltMessage(halt)
  return reverted ? gethMessage(output) : undefined
}
