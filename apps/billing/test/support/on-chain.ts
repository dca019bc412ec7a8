import { DEVNET_ROLES, type Devnet, type DevnetAccount, USDC_ADDRESS, usdcAbi } from '@upfront/devnet'
import type { PaymentPayload } from '@x402/core/types'
import { createWalletClient, http, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { encodeSettlement, PERMIT2, UPTO_PROXY } from '../../src/chain/settlement-call.js'
import { SELLER } from './buyer.js'

/** Asks the chain itself, past billing and its proxies. */
export async function rpc(url: string, method: string, params: unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return ((await response.json()) as { result: unknown }).result
}

/** The number of the newest block. */
export async function fetchHead({ rpcUrl }: Devnet): Promise<bigint> {
  return BigInt(String(await rpc(rpcUrl, 'eth_blockNumber', [])))
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

/** As the payer can: Permit2 then takes no settlement with it. */
export async function burnNonce(devnet: Devnet, nonce: bigint): Promise<void> {
  const account = privateKeyToAccount(DEVNET_ROLES.buyer.privateKey)
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
  const signed = payload.payload as {
    signature: `0x${string}`
    permit2Authorization: {
      nonce: string
      deadline: string
      witness: { validAfter: string }
      permitted: { amount: string; token: `0x${string}` }
    }
  }
  const { nonce, deadline, witness, permitted } = signed.permit2Authorization
  const [facilitator] = DEVNET_ROLES.facilitators
  const terms = {
    asset: permitted.token,
    maximum: BigInt(permitted.amount),
    nonce: BigInt(nonce),
    deadline: BigInt(deadline),
    payer: DEVNET_ROLES.buyer.address,
    payTo: SELLER,
    facilitator: facilitator.address,
    validAfter: BigInt(witness.validAfter),
    signature: signed.signature,
  }
  const account = privateKeyToAccount(facilitator.privateKey)
  const wallet = createWalletClient({ account, transport: http(devnet.rpcUrl) })
  await wallet.sendTransaction({ chain: null, to: UPTO_PROXY, data: encodeSettlement(terms, amount) })
}
