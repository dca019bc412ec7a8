import {
  type Address,
  ErrorCode,
  type Hash,
  RpcError,
  type SafeTransaction,
  type StateOverride,
} from '@upfront/protocol'
import { ContractAbi } from '../accounts/contract-abi.js'
import type { SafeCall } from '../accounts/safe-call.js'
import { hasFailed } from '../engine/call-record.js'
import type { Rehearsal } from './rehearsal.js'

// Safe 1.0.0 to 1.5.0: https://github.com/safe-global/safe-smart-account, contracts/Safe.sol and libraries/SafeStorage.sol.

const SOURCE = [
  'function VERSION() view returns (string)',
  'function nonce() view returns (uint256)',
  'function getThreshold() view returns (uint256)',
  'function getOwners() view returns (address[])',
  'function getStorageAt(uint256 offset, uint256 length) view returns (bytes)',
  'function approvedHashes(address owner, bytes32 hash) view returns (uint256)',
  'function getTransactionHash(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, uint256 nonce) view returns (bytes32)',
  'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures) payable returns (bool)',
]
const safeAbi = ContractAbi.of(SOURCE)
const NONCE_SLOT: Hash = `0x${'5'.padStart(64, '0')}`
const APPROVED_HASHES = 8n
/** `keccak256("guard_manager.guard.address")`. */
const GUARD_SLOT: Hash = '0x4a204f620c8c5ccdca3fd54d003badd85ba500436a431f0cbda4f558c93c34c8'
const ZERO_WORD: Hash = `0x${'0'.repeat(64)}`
const ONE_WORD: Hash = `0x${'1'.padStart(64, '0')}`
/** Safes with a higher threshold are not simulated. */
const MAX_OWNERS = 256n

/**
 * Makes the `execTransaction` call of a Safe transaction, approved by as many owners as the threshold requires, as if each had called
 * `approveHash`.
 * @param place in the request
 * @throws RpcError -32602 if there is no Safe, its threshold is above 256, or the nonce is used; what the runs do
 */
export async function makeSafeCall(
  transaction: SafeTransaction,
  place: string,
  rehearsal: Rehearsal,
): Promise<SafeCall> {
  const refused = (reason: string) => new RpcError(ErrorCode.invalidParams, `${place}.safeTransaction.${reason}`)
  const { safe } = transaction
  const abi = await safeAbi()
  const [version, next, threshold, owners, guard] = await ask(abi, rehearsal, safe, [
    ['VERSION', []],
    ['nonce', []],
    ['getThreshold', []],
    ['getOwners', []],
    ['getStorageAt', [BigInt(GUARD_SLOT), 1n]],
  ])
  if (
    typeof version !== 'string' ||
    typeof next !== 'bigint' ||
    typeof threshold !== 'bigint' ||
    !Array.isArray(owners)
  )
    throw refused('safe: there is no Safe at this address')
  if (threshold > MAX_OWNERS)
    throw refused(`safe: ${threshold} owners have to sign, and at most ${MAX_OWNERS} are supported`)
  const { nonce = next } = transaction
  if (nonce < next) throw refused(`nonce: ${nonce} is used, the Safe's next is ${next}`)
  const sorted = owners.map((owner) => String(owner).toLowerCase() as Address).sort()
  const signers = sorted.slice(0, Number(threshold))
  const { to, value, data, operation, safeTxGas, baseGas, gasPrice, gasToken, refundReceiver } = transaction
  const signed = [to, value, data, operation, safeTxGas, baseGas, gasPrice, gasToken, refundReceiver]
  const [hash] = await ask(abi, rehearsal, safe, [['getTransactionHash', [...signed, nonce]]])
  if (typeof hash !== 'string') throw refused('safe: getTransactionHash returns no hash for its owners to sign')
  const guardAddress =
    typeof guard === 'string' && BigInt(guard) !== 0n ? (`0x${guard.slice(-40)}` as Address) : undefined
  const stateDiff: [Hash, Hash][] = [
    ...signers.map((owner): [Hash, Hash] => [approvalSlot(abi, owner, hash as Hash), ONE_WORD]),
    ...(nonce === next ? [] : [[NONCE_SLOT, `0x${nonce.toString(16).padStart(64, '0')}`] as [Hash, Hash]]),
    ...(transaction.guard || guardAddress === undefined ? [] : [[GUARD_SLOT, ZERO_WORD] as [Hash, Hash]]),
  ]
  const overrides = [{ address: safe, stateDiff }]
  const approvals = await ask(
    abi,
    rehearsal,
    safe,
    signers.map((owner) => ['approvedHashes', [owner, hash]]),
    overrides,
  )
  if (approvals.some((approval) => approval !== 1n))
    throw refused('safe: stores approvals in other slots than a Safe does, so they cannot be assumed')
  const signatures = `0x${signers.map((owner) => `${owner.slice(2).padStart(64, '0')}${'0'.repeat(64)}01`).join('')}`
  return {
    call: {
      from: transaction.executor ?? sorted[0]!,
      to: safe,
      input: abi.encode('execTransaction', [...signed, signatures]),
    },
    ...{ overrides, transaction, version, safeTxHash: hash as Hash, nonce, nextNonce: next, threshold, owners: sorted },
    ...(guardAddress !== undefined && { guard: guardAddress }),
  }
}

/** The Safe's answers in the order of the questions; undefined for a failed call. */
async function ask(
  abi: ContractAbi,
  rehearsal: Rehearsal,
  safe: Address,
  questions: readonly (readonly [name: string, args: readonly unknown[]])[],
  overrides: readonly StateOverride[] = [],
): Promise<unknown[]> {
  const calls = questions.map(([name, args]) => ({ to: safe, input: abi.encode(name, args) }))
  const records = await rehearsal.run(calls, overrides)
  return questions.map(([name], index) => {
    const [frame] = records[index]?.frames ?? []
    return frame === undefined || hasFailed(frame) ? undefined : abi.result(name, frame.output)
  })
}

/** Slot in `mapping(address => mapping(bytes32 => uint256)) approvedHashes`. */
function approvalSlot(abi: ContractAbi, owner: Address, hash: Hash): Hash {
  const ofOwner = abi.keccak256(
    `0x${owner.slice(2).padStart(64, '0')}${APPROVED_HASHES.toString(16).padStart(64, '0')}`,
  )
  return abi.keccak256(`${hash}${ofOwner.slice(2)}`)
}
