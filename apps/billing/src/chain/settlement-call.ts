import type { Address, Hash, Hex } from '@upfront/protocol'
import { PERMIT2_ADDRESS, x402UptoPermit2ProxyABI, x402UptoPermit2ProxyAddress } from '@x402/evm'
import {
  decodeFunctionData,
  encodeFunctionData,
  erc20Abi,
  pad,
  parseErc6492Signature,
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
  asset: Address
  maximum: bigint
  /** Permit2's. */
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

/**
 * The calldata that moves `amount` (smallest unit) of what the buyer signed, its permit first where there is one. A permit that
 * was used already does not fail: the allowance that it gave may still stand.
 */
export function encodeSettlement(payment: SignedTerms, amount: bigint): Hex {
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
  const [r, s] = [slice(permitSignature, 0, 32), slice(permitSignature, 32, 64)]
  const last = Number(slice(permitSignature, 64, 65))
  // Some wallets write the recovery bit alone.
  const permit = { value, deadline, r, s, v: last < 27 ? last + 27 : last }
  const args = [permit, ...settlement] as const
  return encodeFunctionData({ abi: x402UptoPermit2ProxyABI, functionName: 'settleWithPermit', args })
}

/** Whose authorization a transaction's calldata settles; `null` where it is no settlement. */
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

export function encodeNonceBitmap(owner: Address, nonce: bigint): Hex {
  return encodeFunctionData({ abi: nonceBitmapAbi, functionName: 'nonceBitmap', args: [owner, nonce >> 8n] })
}

export function isNonceUsed(bitmap: Hex, nonce: bigint): boolean {
  return ((BigInt(bitmap) >> (nonce & 0xffn)) & 1n) === 1n
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
