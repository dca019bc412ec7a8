import {
  type AccessListEntry,
  type Address,
  type Call,
  type CallRequest,
  ErrorCode,
  type Hash,
  RpcError,
  toQuantity,
} from '@upfront/protocol'
import type { Answer } from '../engine/engine.js'
import { presentFailure } from '../present/present-failure.js'
import { accessListOf, byAddress } from '../trace/access-list.js'

/** The result of `eth_createAccessList`. */
export interface CreatedAccessList {
  accessList: AccessListEntry[]
  /** Gas used by the call with this list, after refunds. */
  gasUsed: bigint
  /** geth's message if the call failed. */
  error?: string
}

/** A list changes the call's gas, and thereby its accesses. geth repeats until its request times out. */
const MAX_RUNS = 16
const NO_LIST = `no access list found: in each of ${MAX_RUNS} runs the call ran out of gas at another place and accessed other state`

/** What geth fills missing fees in from, in wei per gas. */
export interface FeeDefaults {
  /** Of the block. */
  baseFee?: bigint | undefined
  /** Of the block, in wei per blob gas. */
  blobBaseFee?: bigint | undefined
  /** The tip that `eth_maxPriorityFeePerGas` suggests; undefined if it is unknown. */
  suggestTip: () => Promise<bigint | undefined>
}

/**
 * Repeats the call with the access list of its last run until the list no longer changes, as geth does.
 * @param run runs the call, with its state recorded
 * @throws RpcError -32000 for fees, or a legacy transaction with authorizations, that geth refuses in this method only, and if the list
 * never settles; rejects with what `suggestTip` does
 */
export async function createAccessList(
  given: CallRequest,
  run: (request: CallRequest) => Promise<Answer>,
  defaults: FeeDefaults,
): Promise<CreatedAccessList> {
  const request = { ...given, call: await withFees(given.call, defaults) }
  let accessList = await givenList(request, run)
  for (let runs = 1; ; runs += 1) {
    const { records, failures, gasUsed } = await run({ ...request, call: { ...request.call, accessList } })
    const accessed = records[0] === undefined ? [] : accessListOf(records[0])
    if (areSameLists(accessed, accessList)) {
      const [failed] = failures
      const error = failed && presentFailure({ ...failed, returnData: '0x' }, 'ethereum')
      return { accessList: accessed, gasUsed, ...(typeof error === 'object' && { error: error.message }) }
    }
    if (runs === MAX_RUNS) throw new RpcError(ErrorCode.serverError, NO_LIST)
    accessList = accessed
  }
}

/**
 * The call with the fees that it lacks, if it has any: geth's defaults of a transaction to be sent (`setFeeDefaults`).
 * @throws RpcError -32000 with geth's message
 */
async function withFees(given: Call, { baseFee = 0n, blobBaseFee, suggestTip }: FeeDefaults): Promise<Call> {
  const refused = refusalOf(given)
  if (refused !== undefined) throw new RpcError(ErrorCode.serverError, refused)
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas, maxFeePerBlobGas, blobVersionedHashes } = given
  if ((gasPrice ?? maxFeePerGas ?? maxPriorityFeePerGas ?? maxFeePerBlobGas) === undefined) return given
  const lacksBlobFee = blobVersionedHashes !== undefined && maxFeePerBlobGas === undefined && blobBaseFee !== undefined
  const call = lacksBlobFee ? { ...given, maxFeePerBlobGas: 2n * blobBaseFee } : given
  if (gasPrice !== undefined) return call
  const tip = maxPriorityFeePerGas ?? (await suggestTip())
  if (tip === undefined) return call
  const most = maxFeePerGas ?? tip + 2n * baseFee
  if (most >= tip) return { ...call, maxFeePerGas: most, maxPriorityFeePerGas: tip }
  const message = `maxFeePerGas (${toQuantity(most)}) < maxPriorityFeePerGas (${toQuantity(tip)})`
  throw new RpcError(ErrorCode.serverError, message)
}

function refusalOf(call: Call): string | undefined {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas, maxFeePerBlobGas, authorizationList } = call
  if (maxFeePerBlobGas === 0n) return 'maxFeePerBlobGas, if specified, must be non-zero'
  if (gasPrice !== undefined && authorizationList !== undefined) return 'both gasPrice and authorizationList specified'
  if (gasPrice === 0n) return 'gasPrice must be non-zero after london fork'
  return maxFeePerGas === 0n && maxPriorityFeePerGas !== undefined ? 'maxFeePerGas must be non-zero' : undefined
}

/** Both lists are sorted. */
function areSameLists(one: readonly AccessListEntry[], other: readonly AccessListEntry[]): boolean {
  const hasSameKeys = (keys: readonly Hash[], others: readonly Hash[]) =>
    keys.length === others.length && keys.every((key, index) => key === others[index])
  return (
    one.length === other.length &&
    one.every(({ address, storageKeys }, index) => {
      const against = other[index]!
      return address === against.address && hasSameKeys(storageKeys, against.storageKeys)
    })
  )
}

/** The given list without accounts that the call touches anyway and that access lists leave out. */
async function givenList({ call, ...on }: CallRequest, run: (request: CallRequest) => Promise<Answer>) {
  const { gas, value, input, gasPrice, maxFeePerGas, maxPriorityFeePerGas, ...bare } = call
  const { accessList = [] } = bare
  if (accessList.length === 0) return []
  // Only its excluded accounts matter. Without a gas limit, the call has gas for any list.
  const { records } = await run({ ...on, call: bare })
  const named = new Set(records[0] && accessListOf(records[0]).map(({ address }) => address))
  const given = new Map<Address, Set<Hash>>()
  for (const { address, storageKeys } of accessList) {
    if (!named.has(address)) continue
    given.set(address, new Set([...(given.get(address) ?? []), ...storageKeys]))
  }
  return [...given].map(([address, slots]) => ({ address, storageKeys: [...slots].sort() })).sort(byAddress)
}
