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

/** What a settlement calls: the scheme's proxy, or for EIP-3009 the token itself. */
export function settlementTarget({ kind, asset }: Pick<SignedTerms, 'kind' | 'asset'>): Address {
  if (kind === 'exact-eip3009') return asset
  return kind === 'upto-permit2' ? UPTO_PROXY : EXACT_PROXY
}

export function isProxy(address: Address | null): boolean {
  return address === UPTO_PROXY || address === EXACT_PROXY
}

/**
 * The calldata that moves `amount` (smallest unit) of what the buyer signed, its permit first where there is one. A permit that
 * was used already does not fail: the allowance that it gave may still stand. `exact` moves all that was signed.
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

/** How the payment's facilitator calls for that. */
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
  // An ordinary account's signature goes to the function that every such token has, anything else to the one for contracts.
  const parts = size(signature) === 65 ? partsOf(signature) : null
  if (parts === null || parts.v < 27 || parts.v > 28)
    return encodeFunctionData({ abi: eip3009ABI, functionName, args: [...transfer, signature] })
  const { r, s, v } = parts
  return encodeFunctionData({ abi: eip3009ABI, functionName, args: [...transfer, v, r, s] })
}

/** Some wallets write the recovery bit alone. */
function partsOf(signature: Hex): { r: Hex; s: Hex; v: number } {
  const last = Number(slice(signature, 64, 65))
  return { r: slice(signature, 0, 32), s: slice(signature, 32, 64), v: last < 2 ? last + 27 : last }
}

/** Whose authorization a call settles, by one of the proxies or by EIP-3009; `null` where it is no settlement. */
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

/** An authorization whose nonce is asked for. */
export type NonceOf = Pick<SignedTerms, 'kind' | 'asset' | 'payer' | 'nonce'>

/** Permit2 keeps nonce `n` as bit `n % 256` of word `n / 256`. */
const nonceBitmapAbi = parseAbi(['function nonceBitmap(address owner, uint256 word) view returns (uint256)'])

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
