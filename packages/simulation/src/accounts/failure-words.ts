import type { Frame } from '../engine/call-record.js'
import { haltMessage } from '../present/halt-message.js'
import { decodeRevertReason } from '../present/revert-reason.js'

/** Why a frame failed, as geth says it; undefined where it did not. */
export function failureWords({ halt, reverted, output }: Frame): string | undefined {
  if (halt !== undefined) return haltMessage(halt)
  if (!reverted) return undefined
  const said = decodeRevertReason(output)
  const reason = said.kind === 'error' ? said.reason : said.kind === 'panic' ? said.meaning : undefined
  return reason === undefined ? 'execution reverted' : `execution reverted: ${reason}`
}
