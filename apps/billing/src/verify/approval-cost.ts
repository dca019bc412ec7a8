import { type Address, RefusalReason } from '@upfront/protocol'
import type { Chain } from '../chain/chain.js'
import type { SignedApproval, UnfitApproval } from './approval-transaction.js'

/** A transfer of ETH to an account without code. */
export const FUNDING_GAS = 21_000n
/** How far above the fees that wallets leave an approval's fee may be. */
const HIGHEST_FEE = 2n

/**
 * What the signer pays so that a payer can send this approval, in wei: what the payer lacks, and the transaction that brings it. A
 * reason where the approval could not be mined as things are. Throws `NodeFault`.
 */
export async function readApprovalCost(
  chain: Chain,
  payer: Address,
  approval: SignedApproval,
): Promise<bigint | UnfitApproval> {
  const unfit = (message: string): UnfitApproval => ({ reason: RefusalReason.approvalUnfit, message })
  const [count, code, fees, { baseFeePerGas }, { l1Fee, lacking }] = await Promise.all([
    chain.transactionCount(payer, 'latest'),
    chain.code(payer),
    chain.fees(),
    chain.head.recent(),
    readLacking(chain, payer, approval),
  ])
  if (code !== '0x') return unfit('is of an account with code, which could send the ETH elsewhere')
  if (count !== approval.nonce) return unfit(`has nonce ${approval.nonce}, and the account is at ${count}`)
  if (approval.maxFeePerGas < baseFeePerGas) return unfit(`offers less than the base fee, ${baseFeePerGas} wei`)
  const most = HIGHEST_FEE * fees.maxFeePerGas
  if (approval.maxFeePerGas > most) return unfit(`offers more than ${most} wei per gas`)
  return lacking === 0n ? 0n : lacking + FUNDING_GAS * fees.maxFeePerGas + l1Fee
}

/** What the payer lacks of what nodes ask it to hold for the approval, in wei. Throws `NodeFault`. */
export async function readLacking(
  chain: Chain,
  payer: Address,
  { raw, gas, maxFeePerGas }: SignedApproval,
): Promise<{ l1Fee: bigint; lacking: bigint }> {
  const [balance, l1Fee] = await Promise.all([chain.balance(payer), chain.l1Fee(raw)])
  const needed = gas * maxFeePerGas + l1Fee
  return { l1Fee, lacking: needed > balance ? needed - balance : 0n }
}
