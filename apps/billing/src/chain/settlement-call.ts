import type { Address, AuthorizationKind, Hash, Hex } from '@upfront/protocol'
import { eip3009ABI, PERMIT2_ADDRESS, x402UptoPermit2ProxyABI, x402UptoPermit2ProxyAddress } from '@x402/evm'
import {
  decodeFunctionData,
  encodeFunctionData,
  erc20Abi,
  pad,
  parseErc6492Signature,
  size,
  slice,
  toEventSelector,
} from 'viem'

export const UPTO_PROXY = x402UptoPermit2ProxyAddress.toLowerCase() as Address
export const PERMIT2 = PERMIT2_ADDRESS.toLowerCase() as Address
export const TRANSFER_TOPIC: Hash = toEventSelector('Transfer(address,address,uint256)')

/**
 * What a settlement may cost: ten times what it does. The payer's own contract runs in it (ERC-1271), at the signer's
 * expense.
 */
export const SETTLEMENT_GAS_LIMIT = 1_000_000n

/** What the buyer signed, with the signature. Amounts in the asset's smallest unit, times in seconds. */
export interface SignedTerms {
  kind: AuthorizationKind
  asset: Address
  maximum: bigint
  /** Permit2's, or EIP-3009's as a number. */
  nonce: bigint
  deadline: bigint
  payer: Address
  payTo: Address
  facilitator: Address
  validAfter: bigint
  signature: Hex
  /** Of the payer's EIP-2612 permit of the maximum for Permit2; `null`: Permit2 is approved. */
  permitDeadline: bigint | null
  permitSignature: Hex | null
}

/** What a settlement calls: x402's proxy, or for EIP-3009 the token itself. */
export function settlementTarget({ kind, asset }: Pick<SignedTerms, 'kind' | 'asset'>): Address {
  return kind === 'exact-eip3009' ? asset : UPTO_PROXY
}

/**
 * The calldata that moves `amount` (smallest unit) of what the buyer signed, its permit first where there is one. A permit that
 * was used already does not fail: the allowance that it gave may still stand. EIP-3009 moves all that was signed.
 */
export function encodeSettlement(payment: SignedTerms, amount: bigint): Hex {
  if (payment.kind === 'exact-eip3009') return encodeTransferWithAuthorization(payment, amount)
  const settlement = [
    {
      permitted: { token: payment.asset, amount: payment.maximum },
      nonce: payment.nonce,
      deadline: payment.deadline,
    },
    amount,
    payment.payer,
    { to: payment.payTo, facilitator: payment.facilitator, validAfter: payment.validAfter },
    parseErc6492Signature(payment.signature).signature,
  ] as const
  const { maximum: value, permitDeadline: deadline, permitSignature } = payment
  if (permitSignature === null || deadline === null) {
    return encodeFunctionData({ abi: x402UptoPermit2ProxyABI, functionName: 'settle', args: settlement })
  }
  const permit = { value, deadline, ...partsOf(permitSignature) }
  const args = [permit, ...settlement] as const
  return encodeFunctionData({ abi: x402UptoPermit2ProxyABI, functionName: 'settleWithPermit', args })
}

function encodeTransferWithAuthorization(payment: SignedTerms, amount: bigint): Hex {
  const { payer, payTo, maximum, validAfter, deadline, nonce, signature } = payment
  if (amount !== maximum) throw new Error(`EIP-3009 moves ${maximum}, not ${amount}`)
  const transfer = [payer, payTo, maximum, validAfter, deadline + 1n, pad(toQuantity(nonce), { size: 32 })] as const
  const functionName = 'transferWithAuthorization'
  // An ordinary account's signature goes to the function that every such token has, anything else to the one for contracts.
  if (size(signature) !== 65)
    return encodeFunctionData({ abi: eip3009ABI, functionName, args: [...transfer, signature] })
  const { r, s, v } = partsOf(signature)
  return encodeFunctionData({ abi: eip3009ABI, functionName, args: [...transfer, v, r, s] })
}

/** Some wallets write the recovery bit alone. */
function partsOf(signature: Hex): { r: Hex; s: Hex; v: number } {
  const last = Number(slice(signature, 64, 65))
  return { r: slice(signature, 0, 32), s: slice(signature, 32, 64), v: last < 27 ? last + 27 : last }
}

/** Whose authorization the calldata of a call to {@link UPTO_PROXY} settles; `null` where it is no settlement. */
export function decodeSettlement(calldata: Hex): { payer: Address; nonce: bigint } | null {
  try {
    const { functionName, args } = decodeFunctionData({ abi: x402UptoPermit2ProxyABI, data: calldata })
    if (functionName === 'settle') return { payer: args[2].toLowerCase() as Address, nonce: args[0].nonce }
    if (functionName === 'settleWithPermit') return { payer: args[3].toLowerCase() as Address, nonce: args[1].nonce }
    return null
  } catch {
    return null
  }
}

/** An authorization whose nonce is asked for. */
export type NonceOf = Pick<SignedTerms, 'kind' | 'asset' | 'payer' | 'nonce'>

/** Permit2 keeps nonce `n` as bit `n % 256` of word `n / 256`. */
const nonceBitmapAbi = [
  {
    type: 'function',
    name: 'nonceBitmap',
    stateMutability: 'view',
    inputs: [
      { name: 'owner', type: 'address' },
      { name: 'word', type: 'uint256' },
    ],
    outputs: [{ name: 'bits', type: 'uint256' }],
  },
] as const

/** What says whether an authorization was used: Permit2's bitmap, or the token's `authorizationState`. */
export function nonceCall({ kind, asset, payer, nonce }: NonceOf): { to: Address; data: Hex } {
  if (kind !== 'exact-eip3009') {
    const data = encodeFunctionData({ abi: nonceBitmapAbi, functionName: 'nonceBitmap', args: [payer, nonce >> 8n] })
    return { to: PERMIT2, data }
  }
  const args = [payer, pad(toQuantity(nonce), { size: 32 })] as const
  return { to: asset, data: encodeFunctionData({ abi: eip3009ABI, functionName: 'authorizationState', args }) }
}

/** @param word what {@link nonceCall} answered */
export function isNonceUsed(word: Hex, { kind, nonce }: Pick<NonceOf, 'kind' | 'nonce'>): boolean {
  const bits = toUint(word)
  return kind === 'exact-eip3009' ? bits !== 0n : ((bits >> (nonce & 0xffn)) & 1n) === 1n
}

export function encodeBalanceOf(owner: Address): Hex {
  return encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [owner] })
}

export function encodePermit2Allowance(owner: Address): Hex {
  return encodeFunctionData({ abi: erc20Abi, functionName: 'allowance', args: [owner, PERMIT2] })
}

/** Topics of the token's Transfer event from payer to payTo. */
export function transferTopics(payment: Pick<SignedTerms, 'payer' | 'payTo'>): [Hash, Hash, Hash] {
  return [TRANSFER_TOPIC, pad(payment.payer), pad(payment.payTo)]
}

/** A call's one word; a contract that answers nothing holds nothing. */
export function toUint(word: Hex): bigint {
  return word === '0x' ? 0n : BigInt(word.slice(0, 66))
}

export function toQuantity(value: bigint): Hex {
  return `0x${value.toString(16)}`
}
