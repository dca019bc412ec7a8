import type { Address, AuthorizationKind, Hash, Hex } from '@upfront/protocol'
import {
  eip3009ABI,
  PERMIT2_ADDRESS,
  x402ExactPermit2ProxyABI,
  x402ExactPermit2ProxyAddress,
  x402UptoPermit2ProxyABI,
  x402UptoPermit2ProxyAddress,
} from '@x402/evm'
import {
  decodeFunctionData,
  encodeFunctionData,
  erc20Abi,
  pad,
  parseAbi,
  parseErc6492Signature,
  size,
  slice,
  toEventSelector,
} from 'viem'

export const UPTO_PROXY = x402UptoPermit2ProxyAddress.toLowerCase() as Address
export const EXACT_PROXY = x402ExactPermit2ProxyAddress.toLowerCase() as Address
export const PERMIT2 = PERMIT2_ADDRESS.toLowerCase() as Address
export const TRANSFER_TOPIC: Hash = toEventSelector('Transfer(address,address,uint256)')

/** Gas limit of a settlement: ten times the usual. It may run the payer's own contract (ERC-1271), at the signer's expense. */
export const SETTLEMENT_GAS_LIMIT = 1_000_000n

/** The signed terms, with the signature. Amounts in the asset's smallest unit, times in Unix seconds. */
export interface SignedTerms {
  kind: AuthorizationKind
  asset: Address
  maximum: bigint
  /** Nonce of Permit2, or of EIP-3009 as a number. */
  nonce: bigint
  deadline: bigint
  payer: Address
  payTo: Address
  facilitator: Address
  validAfter: bigint
  signature: Hex
  /** Deadline of the payer's EIP-2612 permit of the maximum for Permit2; `null` if Permit2 is approved. */
  permitDeadline: bigint | null
  permitSignature: Hex | null
}

/** Target of a settlement: the scheme's proxy, or the token itself for EIP-3009. */
export function settlementTarget({ kind, asset }: Pick<SignedTerms, 'kind' | 'asset'>): Address {
  if (kind === 'exact-eip3009') return asset
  return kind === 'upto-permit2' ? UPTO_PROXY : EXACT_PROXY
}

export function isProxy(address: Address | null): boolean {
  return address === UPTO_PROXY || address === EXACT_PROXY
}

/**
 * Calldata that moves `amount` (smallest unit), including the payer's permit if there is one. A permit that was already used does not fail
 * the call: its allowance may still be there. `exact` moves the full signed amount.
 */
export function encodeSettlement(payment: SignedTerms, amount: bigint): Hex {
  const { kind, payer, payTo: to, maximum, validAfter } = payment
  if (kind !== 'upto-permit2' && amount !== maximum) throw new Error(`exact moves ${maximum}, not ${amount}`)
  if (kind === 'exact-eip3009') return encodeTransferWithAuthorization(payment)
  const { asset: token, nonce, deadline, facilitator } = payment
  const terms = { permitted: { token, amount: maximum }, nonce, deadline }
  const { signature } = parseErc6492Signature(payment.signature)
  const permit = permitOf(payment)
  if (kind === 'exact-permit2') {
    const abi = x402ExactPermit2ProxyABI
    const settlement = [terms, payer, { to, validAfter }, signature] as const
    return permit === null
      ? encodeFunctionData({ abi, functionName: 'settle', args: settlement })
      : encodeFunctionData({ abi, functionName: 'settleWithPermit', args: [permit, ...settlement] })
  }
  const abi = x402UptoPermit2ProxyABI
  const settlement = [terms, amount, payer, { to, facilitator, validAfter }, signature] as const
  return permit === null
    ? encodeFunctionData({ abi, functionName: 'settle', args: settlement })
    : encodeFunctionData({ abi, functionName: 'settleWithPermit', args: [permit, ...settlement] })
}

/** The settlement as a call from the payment's facilitator. */
export function callOf(payment: SignedTerms, amount: bigint): { from: Address; to: Address; data: Hex } {
  return { from: payment.facilitator, to: settlementTarget(payment), data: encodeSettlement(payment, amount) }
}

function permitOf({ maximum: value, permitDeadline: deadline, permitSignature }: SignedTerms) {
  return permitSignature === null || deadline === null ? null : { value, deadline, ...partsOf(permitSignature) }
}

function encodeTransferWithAuthorization(payment: SignedTerms): Hex {
  const { payer, payTo, maximum, validAfter, deadline, nonce } = payment
  const { signature } = parseErc6492Signature(payment.signature)
  const transfer = [payer, payTo, maximum, validAfter, deadline + 1n, pad(toQuantity(nonce), { size: 32 })] as const
  const functionName = 'transferWithAuthorization'
  // Signatures of EOAs go to the `(v, r, s)` overload, which every EIP-3009 token has; others go to the `bytes` overload for contracts.
  const parts = size(signature) === 65 ? partsOf(signature) : null
  if (parts === null || parts.v < 27 || parts.v > 28)
    return encodeFunctionData({ abi: eip3009ABI, functionName, args: [...transfer, signature] })
  const { r, s, v } = parts
  return encodeFunctionData({ abi: eip3009ABI, functionName, args: [...transfer, v, r, s] })
}

/** Splits a signature. Some wallets encode `v` as 0 or 1. */
function partsOf(signature: Hex): { r: Hex; s: Hex; v: number } {
  const last = Number(slice(signature, 64, 65))
  return { r: slice(signature, 0, 32), s: slice(signature, 32, 64), v: last < 2 ? last + 27 : last }
}

/** The authorization that a call settles, through a proxy or by EIP-3009; `null` if the call is no settlement. */
export function decodeSettlement(
  target: Address,
  calldata: Hex,
): { kind: AuthorizationKind; payer: Address; nonce: bigint } | null {
  try {
    if (target === UPTO_PROXY) {
      const { functionName, args } = decodeFunctionData({ abi: x402UptoPermit2ProxyABI, data: calldata })
      if (functionName === 'settle') return found('upto-permit2', args[2], args[0].nonce)
      return functionName === 'settleWithPermit' ? found('upto-permit2', args[3], args[1].nonce) : null
    }
    if (target === EXACT_PROXY) {
      const { functionName, args } = decodeFunctionData({ abi: x402ExactPermit2ProxyABI, data: calldata })
      if (functionName === 'settle') return found('exact-permit2', args[1], args[0].nonce)
      return functionName === 'settleWithPermit' ? found('exact-permit2', args[2], args[1].nonce) : null
    }
    const { functionName, args } = decodeFunctionData({ abi: eip3009ABI, data: calldata })
    return functionName === 'transferWithAuthorization' ? found('exact-eip3009', args[0], BigInt(args[5])) : null
  } catch {
    return null
  }
}

function found(kind: AuthorizationKind, payer: string, nonce: bigint) {
  return { kind, payer: payer.toLowerCase() as Address, nonce }
}

/** Identifies an authorization for looking up its nonce. */
export type NonceOf = Pick<SignedTerms, 'kind' | 'asset' | 'payer' | 'nonce'>

/** Permit2 stores nonce `n` as bit `n % 256` of word `n / 256`. */
const nonceBitmapAbi = parseAbi(['function nonceBitmap(address owner, uint256 word) view returns (uint256)'])

/** The call that tells whether a nonce was used: Permit2's `nonceBitmap`, or the token's `authorizationState`. */
export function nonceCall({ kind, asset, payer, nonce }: NonceOf): { to: Address; data: Hex } {
  if (kind !== 'exact-eip3009') {
    const data = encodeFunctionData({ abi: nonceBitmapAbi, functionName: 'nonceBitmap', args: [payer, nonce >> 8n] })
    return { to: PERMIT2, data }
  }
  const args = [payer, pad(toQuantity(nonce), { size: 32 })] as const
  return { to: asset, data: encodeFunctionData({ abi: eip3009ABI, functionName: 'authorizationState', args }) }
}

/** @param word result of {@link nonceCall} */
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

/** The address in a topic of an event. */
export function addressIn(topic = ''): Address {
  return `0x${topic.slice(-40).toLowerCase()}`
}

/** Reads a result of one word; an empty result is 0. */
export function toUint(word: Hex): bigint {
  return word === '0x' ? 0n : BigInt(word.slice(0, 66))
}

export function toQuantity(value: bigint): Hex {
  return `0x${value.toString(16)}`
}
