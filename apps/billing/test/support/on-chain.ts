import { DEVNET_ROLES, type Devnet, type DevnetAccount, USDC_ADDRESS, usdcAbi } from '@upfront/devnet'
import { decodePaymentPayload } from '@upfront/protocol'
import type { PaymentPayload } from '@x402/core/types'
import { createWalletClient, type HttpTransport, http, parseAbi, type WalletClient, zeroAddress } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { BATCH_DEPLOYMENT, CREATE2_DEPLOYER, SETTLEMENT_BATCH } from '../../src/chain/settlement-batch.js'
import { encodeSettlement, PERMIT2, settlementTarget, UPTO_PROXY } from '../../src/chain/settlement-call.js'
import { until } from './until.js'

/** Calls the chain directly, past billing and its proxies. */
export async function rpc(url: string, method: string, params: unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return ((await response.json()) as { result: unknown }).result
}

/** The number of the newest block. */
export async function fetchHead({ rpcUrl }: Devnet): Promise<bigint> {
  return BigInt(String(await rpc(rpcUrl, 'eth_blockNumber', [])))
}

/** Wei that billing reserves for a plain settlement at its current fees. */
export async function settlementPromise({ rpcUrl }: Devnet): Promise<bigint> {
  const block = (await rpc(rpcUrl, 'eth_getBlockByNumber', ['latest', false])) as { baseFeePerGas: string }
  const suggested = BigInt(String(await rpc(rpcUrl, 'eth_maxPriorityFeePerGas', [])))
  const base = BigInt(block.baseFeePerGas)
  return 130_000n * (2n * base + (suggested < base ? suggested : base))
}

export function resend(devnet: Devnet, raw: string): Promise<unknown> {
  return rpc(devnet.rpcUrl, 'eth_sendRawTransaction', [raw])
}

/** Moves test USDC. */
export async function transfer(devnet: Devnet, from: DevnetAccount, to: `0x${string}`, amount: bigint): Promise<void> {
  const wallet = createWalletClient({ account: privateKeyToAccount(from.privateKey), transport: http(devnet.rpcUrl) })
  const call = { address: USDC_ADDRESS, abi: usdcAbi, functionName: 'transfer' } as const
  await wallet.writeContract({ chain: null, ...call, args: [to, amount] })
}

/** Invalidates a nonce as its payer can: Permit2 then rejects settlements with it. */
export async function burnNonce(
  devnet: Devnet,
  nonce: bigint,
  payer: DevnetAccount = DEVNET_ROLES.buyer,
): Promise<void> {
  const account = privateKeyToAccount(payer.privateKey)
  await createWalletClient({ account, transport: http(devnet.rpcUrl) }).writeContract({
    chain: null,
    address: PERMIT2,
    abi: parseAbi(['function invalidateUnorderedNonces(uint256 wordPos, uint256 mask)']),
    functionName: 'invalidateUnorderedNonces',
    args: [nonce >> 8n, 1n << (nonce & 0xffn)],
  })
}

/** Settles an authorization with the facilitator's key, past billing, for another amount. */
export async function settleElsewhere(devnet: Devnet, payload: PaymentPayload, amount: bigint): Promise<void> {
  const data = settlementCall(payload, amount)
  await facilitatorWallet(devnet).sendTransaction({ chain: null, to: UPTO_PROXY, data })
}

/** The facilitator's own account, past billing. */
export function facilitatorWallet({ rpcUrl }: Devnet): WalletClient<HttpTransport, undefined, PrivateKeyAccount> {
  const account = privateKeyToAccount(DEVNET_ROLES.facilitators[0].privateKey)
  return createWalletClient({ account, transport: http(rpcUrl) })
}

/**
 * Delegates the facilitator's account to the contract for batches, which it deploys at the same time. That takes two nonces, of which
 * a node knows one until the transaction is mined.
 */
export async function delegateFacilitator(devnet: Devnet): Promise<`0x${string}`> {
  const wallet = facilitatorWallet(devnet)
  const authorization = await wallet.signAuthorization({ contractAddress: SETTLEMENT_BATCH, executor: 'self' })
  const deployment = { to: CREATE2_DEPLOYER, data: BATCH_DEPLOYMENT }
  const hash = await wallet.sendTransaction({ chain: null, ...deployment, authorizationList: [authorization] })
  await until(() => rpc(devnet.rpcUrl, 'eth_getTransactionReceipt', [hash]))
  return hash
}

/** The calldata that settles `amount` of `payload`, by default all of it. */
export function settlementCall(payload: PaymentPayload, amount?: bigint): `0x${string}` {
  const { authorization } = decodePaymentPayload(payload)
  const { token: asset, facilitator, maximum } = authorization
  const permit = { permitDeadline: null, permitSignature: null }
  return encodeSettlement(
    { ...authorization, asset, facilitator: facilitator ?? zeroAddress, ...permit },
    amount ?? maximum,
  )
}

/** The contract that such a call is sent to. */
export function targetOf(payload: PaymentPayload): `0x${string}` {
  const { kind, token: asset } = decodePaymentPayload(payload).authorization
  return settlementTarget({ kind, asset })
}
