import { type Call, ErrorCode, RpcError, ZERO_ADDRESS } from '@upfront/protocol'
import type { BlockRules } from './chain-rules.js'
import { isForkActive } from './rules-at.js'
import type { PlannedCall } from './simulation-plan.js'

/** EIP-7594: blobs of one transaction from Osaka on. */
const MAX_BLOBS_PER_TRANSACTION = 6

/**
 * A call as the transaction that geth would make of it. Its type follows from the fields that are there: a gas price makes
 * it legacy whatever else is given, then authorizations type 4, blobs type 3, anything else type 2. Access list, blobs and
 * authorizations take effect all the same.
 * @throws RpcError for combinations that are no transaction, its message without the place
 */
export function planCall(call: Call, chainId: bigint, rules: BlockRules): PlannedCall {
  refuseContradictions(call, chainId)
  refuseBadBlobs(call, rules)
  refuseBadAuthorizations(call, rules)
  const planned: PlannedCall = {
    type: typeOf(call),
    from: call.from ?? ZERO_ADDRESS,
    to: call.to ?? null,
    input: call.input ?? '0x',
    value: call.value ?? 0n,
    accessList: call.accessList ?? [],
  }
  if (call.nonce !== undefined) planned.nonce = call.nonce
  if (call.gas !== undefined) planned.gas = call.gas
  if (call.gasPrice !== undefined) {
    planned.gasPrice = call.gasPrice
  } else {
    planned.maxFeePerGas = call.maxFeePerGas ?? 0n
    planned.maxPriorityFeePerGas = call.maxPriorityFeePerGas ?? 0n
  }
  if (call.blobVersionedHashes !== undefined) {
    planned.blobVersionedHashes = call.blobVersionedHashes
    planned.maxFeePerBlobGas = call.maxFeePerBlobGas ?? 0n
  }
  if (call.authorizationList !== undefined) planned.authorizationList = call.authorizationList
  return planned
}

function typeOf(call: Call): PlannedCall['type'] {
  if (call.gasPrice !== undefined) return 0
  if (call.authorizationList !== undefined) return 4
  return call.blobVersionedHashes === undefined ? 2 : 3
}

/** What geth refuses before it makes a transaction of a call; it has no codes of their own for these. */
function refuseContradictions(call: Call, chainId: bigint): void {
  if (call.gasPrice !== undefined && (call.maxFeePerGas !== undefined || call.maxPriorityFeePerGas !== undefined)) {
    throw new RpcError(ErrorCode.serverError, 'both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified')
  }
  if (call.to === undefined && call.blobVersionedHashes !== undefined) {
    throw new RpcError(ErrorCode.serverError, 'blob transaction of type create')
  }
  if (call.to === undefined && call.authorizationList !== undefined) {
    throw new RpcError(ErrorCode.serverError, 'EIP-7702 transaction cannot be used to create contract')
  }
  if (call.chainId !== undefined && call.chainId !== chainId) {
    throw new RpcError(ErrorCode.serverError, `chainId does not match node's (have=${call.chainId}, want=${chainId})`)
  }
}

function refuseBadBlobs(call: Call, rules: BlockRules): void {
  const hashes = call.blobVersionedHashes
  if (hashes === undefined) return
  if (!isForkActive(rules.fork, 'cancun')) throw invalid('blob transactions come with Cancun')
  if (hashes.length === 0) throw invalid('blob transaction missing blob hashes')
  if (isForkActive(rules.fork, 'osaka') && hashes.length > MAX_BLOBS_PER_TRANSACTION) {
    throw invalid(`blob transaction has too many blobs: ${hashes.length} > ${MAX_BLOBS_PER_TRANSACTION}`)
  }
  const wrong = hashes.findIndex((hash) => !hash.startsWith('0x01'))
  if (wrong !== -1) throw invalid(`blob ${wrong} has invalid hash version`)
}

function refuseBadAuthorizations(call: Call, rules: BlockRules): void {
  if (call.authorizationList === undefined) return
  if (!isForkActive(rules.fork, 'prague')) throw invalid('EIP-7702 transactions come with Prague')
  if (call.authorizationList.length === 0) throw invalid('EIP-7702 transaction with empty auth list')
}

function invalid(message: string): RpcError {
  return new RpcError(ErrorCode.invalidParams, message)
}
