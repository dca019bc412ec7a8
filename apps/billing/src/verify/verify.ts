import {
  type Address,
  DEADLINE_SLACK_SECONDS,
  EXACT_VALIDITY_SECONDS,
  GAS_SPONSORING,
  type Hex,
  RefusalReason,
  type SignedAuthorization,
  schemeOf,
  type TokenPermit,
} from '@upfront/protocol'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { UptoEvmScheme } from '@x402/evm/upto/facilitator'
import { BaseError, isErc6492Signature, maxUint256, parseErc6492Signature, zeroAddress } from 'viem'
import type { Chain } from '../chain/chain.js'
import type { Chains } from '../chain/chains.js'
import { encodeSettlement, isProxy, PERMIT2, settlementTarget } from '../chain/settlement-call.js'
import { readSettlementGas, type SettlementGas, simulateWithinGas } from '../chain/settlement-gas.js'
import { type PaymentRequest, type Refusal, type Refused, refused } from './payment-request.js'
import { recoverSigned } from './signed-by-payer.js'
import { VerificationSigner } from './verification-signer.js'

/** Reasons of `upto` and of `exact`. */
const SIMULATION_FAILED: ReadonlySet<string> = new Set([
  RefusalReason.simulationFailed,
  'invalid_exact_evm_transaction_simulation_failed',
])

/** The last one: an ERC-6492 signature of a wallet that is not deployed. */
const INVALID_SIGNATURES: ReadonlySet<string> = new Set([
  RefusalReason.invalidSignature,
  'invalid_exact_evm_signature',
  'eip6492_factory_not_allowed',
])

/** A payer's balance and Permit2 allowance, at `block` or later. Smallest unit. */
export interface Holdings {
  balance: bigint
  allowance: bigint
  /** The allowance is the permit's, which replaces the current one when the payment is settled. */
  isSponsored: boolean
  block: bigint
}

/** A signed authorization with the signer that settles it. For `upto` the buyer's signature names the signer. */
export type PayableAuthorization = SignedAuthorization & { facilitator: Address }

/** An authorization that passed all checks without chain state. */
export interface ReadAuthorization extends Omit<PaymentRequest, 'authorization'> {
  chain: Chain
  authorization: PayableAuthorization
}

/**
 * Runs the checks that need no chain state: network, token, facilitator, and a deadline that leaves `minimumValiditySeconds` plus the time
 * to settle.
 */
export async function readAuthorization(
  chains: Chains,
  { accepted, offered }: { accepted: ReadonlySet<Address>; offered: readonly Address[] },
  request: PaymentRequest,
  minimumValiditySeconds: number,
): Promise<ReadAuthorization | Refused> {
  const { requirements } = request
  const authorization = assign(request.authorization, offered)
  const { payer } = authorization
  const invalid = (reason: string, message: string) => refused({ reason, message }, payer)
  if (requirements.scheme !== schemeOf(authorization.kind)) {
    return invalid(RefusalReason.invalidScheme, `the payload is not of the scheme ${requirements.scheme}`)
  }
  if (authorization.maximum === 0n) return invalid(RefusalReason.invalidAmount, 'the authorized amount is 0')
  const chain = chains.get(requirements.network)
  if (chain === undefined)
    return invalid(RefusalReason.invalidNetwork, `this facilitator does not serve ${requirements.network}`)
  if (!chain.tokens.has(requirements.asset)) {
    return invalid(RefusalReason.unknownAsset, `this facilitator does not settle the token ${requirements.asset}`)
  }
  if (authorization.token !== requirements.asset) {
    return invalid(RefusalReason.tokenMismatch, 'the signed token is not the requested one')
  }
  if (!accepted.has(authorization.facilitator)) {
    return invalid(
      RefusalReason.facilitatorMismatch,
      `${authorization.facilitator} is not a signer of this facilitator`,
    )
  }
  const needed = BigInt(minimumValiditySeconds + (await chain.head.settlementSeconds()))
  if (authorization.deadline < chain.head.now() + needed) {
    return invalid(RefusalReason.deadlineExpired, `the deadline must be at least ${needed} s in the future`)
  }
  const least = requirements.scheme === 'exact' ? EXACT_VALIDITY_SECONDS : 0
  const furthest = Math.max(requirements.maxTimeoutSeconds, least) + DEADLINE_SLACK_SECONDS
  if (authorization.deadline > chain.head.now() + BigInt(furthest)) {
    return invalid(RefusalReason.deadlineTooFar, `the deadline may be at most ${furthest} s in the future`)
  }
  const permit = chain.sponsored.has(requirements.asset) ? request.permit : null
  const unfit = permit === null ? null : findUnfit(permit, authorization)
  if (unfit !== null) return invalid(unfit.reason, `the permit in extensions.${GAS_SPONSORING}: ${unfit.message}`)
  return { ...request, chain, authorization, permit }
}

/** `exact` names no facilitator, so its random nonce selects one of the offered signers. */
function assign(authorization: SignedAuthorization, offered: readonly Address[]): PayableAuthorization {
  const place = offered.length === 0 ? 0 : Number(authorization.nonce % BigInt(offered.length))
  return { ...authorization, facilitator: authorization.facilitator ?? offered[place] ?? zeroAddress }
}

/** Why a permit does not match this authorization; its signature is not checked here. */
function findUnfit(
  { owner, token, spender, amount, deadline }: TokenPermit,
  authorization: PayableAuthorization,
): Refusal | null {
  const { payer, maximum } = authorization
  if (owner !== payer) return { reason: RefusalReason.permitOwnerMismatch, message: 'its owner is not the payer' }
  if (token !== authorization.token)
    return { reason: RefusalReason.permitTokenMismatch, message: 'is for another token' }
  if (spender !== PERMIT2)
    return { reason: RefusalReason.permitSpenderMismatch, message: `its spender must be ${PERMIT2}` }
  // Required by the proxy.
  if (amount !== maximum) return { reason: RefusalReason.permitAmountMismatch, message: `its value must be ${maximum}` }
  if (deadline >= authorization.deadline) return null
  return { reason: RefusalReason.permitDeadlineExpired, message: "must not expire before the authorization's deadline" }
}

/**
 * Verifies a payment on chain with @x402/evm: amount, token, payTo, spender, facilitator, times, signature (also ERC-1271), and a simulated
 * settlement of the maximum. Reads the payer's holdings; a valid permit of the maximum counts as allowance. Throws `NodeFault`.
 */
export async function verifyOnChain(
  { chain, requirements, authorization, permit, original }: ReadAuthorization,
  acceptedSigners: ReadonlySet<Address>,
): Promise<({ settlementGas: SettlementGas } & Holdings) | Refused> {
  const { payer } = authorization
  const invalid = (reason: string, message: string) => refused({ reason, message }, payer)
  const settlement = encodeSimulation(authorization, permit)
  if (settlement === null)
    return invalid(RefusalReason.invalidSignature, "the signature's ERC-6492 wrapper cannot be decoded")
  const target = settlementTarget({ ...authorization, asset: authorization.token })
  // A call to an address without code succeeds.
  if (isProxy(target) && !(await chain.isContract(target)))
    return invalid(RefusalReason.proxyNotDeployed, `${chain.network} has no contract at ${target}`)
  const payerCode = once(() => chain.latest.code(payer))
  const signed = recoverSigned(authorization, chain.chainId, requirements.extra)
  const call = { from: authorization.facilitator, to: target, data: settlement }
  const simulation = once(() => simulateWithinGas(chain, call, permit !== null))
  const signer = new VerificationSigner(chain, [...acceptedSigners], {
    payer,
    signed,
    payerCode,
    simulatedSettlement: async () => (await simulation()).answer,
  })
  const readBoth = once(() => readHoldings(chain, authorization, permit))
  // For an invalid signature the node is asked at most for the payer's code.
  if (signed !== null) {
    signer.readAhead()
    readBoth().catch(() => undefined)
  }
  // Extensions are removed: the call that the library takes for `settle` is simulated with our permit. For a deployed wallet, EIP-3009
  // accepts the signature inside an ERC-6492 wrapper.
  const scheme = requirements.scheme === 'upto' ? new UptoEvmScheme(signer) : new ExactEvmScheme(signer)
  const { signature } = authorization
  const isUnwrapped =
    isErc6492Signature(signature) && authorization.kind === 'exact-eip3009' && (await payerCode()) !== '0x'
  const unwrapped = isUnwrapped ? { signature: parseErc6492Signature(signature).signature } : {}
  const payload = { ...original.payload, payload: { ...original.payload.payload, ...unwrapped }, extensions: {} }
  const verdict = await scheme.verify(payload, original.requirements)
  if (signer.fault !== null) throw signer.fault
  const simulationFailed = SIMULATION_FAILED.has(verdict.invalidReason ?? '')
  if (!verdict.isValid && !simulationFailed) {
    const reason = verdict.invalidReason ?? RefusalReason.invalidPayload
    return invalid(
      reason,
      INVALID_SIGNATURES.has(reason) && isErc6492Signature(signature)
        ? "a signature in an ERC-6492 wrapper can't be checked before the payer's wallet is deployed"
        : 'the authorization does not match the offer',
    )
  }
  const holdings = await readBoth()
  if (holdings.balance < requirements.amount) {
    return invalid(
      RefusalReason.insufficientBalance,
      `the payer holds ${holdings.balance} of the ${requirements.amount} needed`,
    )
  }
  if (holdings.allowance < requirements.amount) {
    return invalid(
      RefusalReason.allowanceRequired,
      `Permit2 may move ${holdings.allowance} of the ${requirements.amount} needed: the payer has to approve Permit2`,
    )
  }
  if (!simulationFailed) {
    const isOrdinary = (await payerCode()) === '0x' && (await simulation()).isOrdinary
    const settlementGas = await readSettlementGas(chain, call, holdings.isSponsored, isOrdinary)
    if (settlementGas === null) {
      return invalid(RefusalReason.simulationFailed, 'the settlement would revert, or need too much gas')
    }
    return { ...holdings, settlementGas }
  }
  if (await chain.latest.isNonceUsed({ ...authorization, asset: authorization.token })) {
    return invalid(RefusalReason.nonceUsed, 'the nonce of this authorization was used before')
  }
  if (!holdings.isSponsored) {
    return invalid(RefusalReason.simulationFailed, 'the settlement would revert, or need too much gas')
  }
  const message = `Permit2's allowance is too low, and the token rejects the permit in extensions.${GAS_SPONSORING}: sign it with the token's current nonce`
  return invalid(RefusalReason.allowanceRequired, message)
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  return () => {
    reading ??= read()
    return reading
  }
}

/** Calldata that settles the maximum; `null` if an ERC-6492 signature can't be unwrapped. */
function encodeSimulation(
  { token: asset, ...authorization }: PayableAuthorization,
  permit: TokenPermit | null,
): Hex | null {
  const { deadline: permitDeadline, signature: permitSignature } = permit ?? { deadline: null, signature: null }
  try {
    return encodeSettlement({ asset, ...authorization, permitDeadline, permitSignature }, authorization.maximum)
  } catch (error) {
    if (error instanceof BaseError) return null
    throw error
  }
}

/** Reads balance and Permit2 allowance. Throws `NodeFault`. */
export async function readHoldings(
  chain: Chain,
  { kind, token: asset, payer, maximum }: PayableAuthorization,
  sponsored: { amount: bigint } | null,
): Promise<Holdings> {
  // Read first: transactions mined after this block may or may not be reflected in the reads.
  const block = chain.head.number
  const [balance, allowance] = await Promise.all([
    chain.latest.balanceOf(asset, payer),
    // EIP-3009 needs no allowance.
    kind === 'exact-eip3009' ? maxUint256 : chain.latest.permit2Allowance(asset, payer),
  ])
  const isSponsored = sponsored !== null && allowance < maximum
  return { balance, allowance: isSponsored ? sponsored.amount : allowance, isSponsored, block }
}
