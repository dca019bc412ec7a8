import type { AccessListEntry, CallRequest } from '@upfront/protocol'
import type { Answer } from '../engine/engine.js'
import { presentFailure } from '../present/present-failure.js'
import { accessListOf } from '../trace/access-list.js'

/** What `eth_createAccessList` answers. */
export interface CreatedAccessList {
  accessList: AccessListEntry[]
  /** Of the call with this list, after refunds. */
  gasUsed: bigint
  /** Why the call failed. */
  error?: string
}

/** A list changes what a call has gas for, and with it what the call accesses. geth goes on for ever. */
const MOST_RUNS = 16

/**
 * The access list with which a call accesses just what the list has: the call runs with the list of the run before until the two are the
 * same, as in geth.
 * @param run runs the call, with its state recorded
 */
export async function createAccessList(
  request: CallRequest,
  run: (request: CallRequest) => Promise<Answer>,
): Promise<CreatedAccessList> {
  let accessList = request.call.accessList ?? []
  for (let runs = 1; ; runs += 1) {
    const { records, failures, gasUsed } = await run({ ...request, call: { ...request.call, accessList } })
    const accessed = records[0] === undefined ? [] : accessListOf(records[0])
    if (JSON.stringify(accessed) === JSON.stringify(accessList) || runs === MOST_RUNS) {
      const [failed] = failures
      const error = failed && presentFailure({ ...failed, returnData: '0x' }, 'ethereum')
      return { accessList: accessed, gasUsed, ...(typeof error === 'object' && { error: error.message }) }
    }
    accessList = accessed
  }
}
