import {
  type Address,
  type Hash,
  type Hex,
  RefusalReason,
  type TokenApproval,
  type UptoAuthorization,
} from '@upfront/protocol'
import {
  decodeFunctionData,
  encodeFunctionData,
  erc20Abi,
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  serializeTransaction,
  type TransactionSerializedEIP1559,
} from 'viem'
import { PERMIT2 } from '../chain/settlement-call.js'

/** x402's clients sign 70,000: what is above the need of a plain token is somebody else's code. */
const MOST_APPROVAL_GAS = 100_000n
const SECP256K1_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** A payer's signed `approve(Permit2, amount)`, as the chain will read it. */
export interface SignedApproval {
  raw: Hex
  hash: Hash
  nonce: number
  gas: bigint
  /** Wei. */
  maxFeePerGas: bigint
  /** Smallest unit. */
  amount: bigint
  data: Hex
}

/** Reads an approval that was read before: it was stored with its payment. */
export function parseApproval(raw: Hex): SignedApproval {
  const transaction = parseTransaction(raw as TransactionSerializedEIP1559)
  const { nonce = 0, gas = 0n, maxFeePerGas = 0n, data = '0x' } = transaction
  const { args } = decodeFunctionData({ abi: erc20Abi, data })
  return { raw, hash: keccak256(raw), nonce, gas, maxFeePerGas, data, amount: args?.[1] as bigint }
}

/** Why a transaction is not what is sponsored, with the wire's own reason. */
export interface UnfitApproval {
  reason: string
  message: string
}

/**
 * Takes a signed transaction for an approval only where it is exactly one: EIP-1559, on this chain, by the payer, to the token,
 * `approve(Permit2, amount)` of at least the maximum and nothing else, within {@link MOST_APPROVAL_GAS}.
 */
export async function readApproval(
  { owner, token, spender, amount, transaction: raw }: TokenApproval,
  { payer, token: asset, maximum }: UptoAuthorization,
  chainId: number,
): Promise<SignedApproval | UnfitApproval> {
  const unfit = (reason: string, message: string): UnfitApproval => ({ reason, message })
  if (owner !== payer) return unfit(RefusalReason.approvalOwnerMismatch, 'is not of the payer')
  if (token !== asset) return unfit(RefusalReason.approvalTokenMismatch, 'is of another token')
  if (spender !== PERMIT2) return unfit(RefusalReason.approvalSpenderMismatch, `must be for ${PERMIT2}`)
  const parsed = parse(raw)
  if (parsed === null) return unfit(RefusalReason.approvalNotParsed, 'is no signed EIP-1559 transaction')
  const {
    to,
    data = '0x',
    value = 0n,
    gas = 0n,
    accessList = [],
    maxFeePerGas = 0n,
    maxPriorityFeePerGas = 0n,
  } = parsed
  if (to?.toLowerCase() !== asset) return unfit(RefusalReason.approvalWrongTarget, 'must be sent to the token')
  const called = decodeApprove(data)
  if (called === null) return unfit(RefusalReason.approvalWrongCalldata, 'must call approve(address,uint256)')
  if (called.spender !== PERMIT2) return unfit(RefusalReason.approvalWrongSpender, `must approve ${PERMIT2}`)
  if (called.amount !== amount || amount < maximum)
    return unfit(
      RefusalReason.approvalWrongCalldata,
      `must approve the amount that it is said to, of ${maximum} or more`,
    )
  if (parsed.chainId !== chainId) return unfit(RefusalReason.approvalUnfit, `must be for chain ${chainId}`)
  if (value !== 0n || accessList.length > 0)
    return unfit(RefusalReason.approvalUnfit, 'must send no value and have no access list')
  if (gas > MOST_APPROVAL_GAS) return unfit(RefusalReason.approvalUnfit, `may have ${MOST_APPROVAL_GAS} gas at most`)
  if (maxPriorityFeePerGas > maxFeePerGas) return unfit(RefusalReason.approvalUnfit, 'has a priority fee above its fee')
  if ((await signerOf(raw)) !== payer) return unfit(RefusalReason.approvalSignerMismatch, 'is not signed by the payer')
  return { raw, hash: keccak256(raw), nonce: parsed.nonce ?? 0, gas, maxFeePerGas, amount, data }
}

/** `null` where the bytes are not the one encoding of an EIP-1559 transaction with a signature that nodes take. */
function parse(raw: Hex) {
  try {
    const parsed = parseTransaction(raw as TransactionSerializedEIP1559)
    if (parsed.type !== 'eip1559' || parsed.s === undefined || parsed.r === undefined) return null
    if (BigInt(parsed.s) > SECP256K1_ORDER / 2n) return null
    const { r, s, v, yParity, ...transaction } = parsed
    const again = serializeTransaction(transaction, { r, s, ...(yParity === undefined ? { v: v! } : { yParity }) })
    return again === raw ? parsed : null
  } catch {
    return null
  }
}

function decodeApprove(data: Hex): { spender: Address; amount: bigint } | null {
  try {
    const { functionName, args } = decodeFunctionData({ abi: erc20Abi, data })
    if (functionName !== 'approve' || encodeFunctionData({ abi: erc20Abi, functionName, args }) !== data) return null
    return { spender: args[0].toLowerCase() as Address, amount: args[1] }
  } catch {
    return null
  }
}

async function signerOf(raw: Hex): Promise<string | null> {
  try {
    const serializedTransaction = raw as TransactionSerializedEIP1559
    return (await recoverTransactionAddress({ serializedTransaction })).toLowerCase()
  } catch {
    return null
  }
}
