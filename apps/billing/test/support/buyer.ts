import { DEVNET_ROLES, type DevnetAccount, USDC_ADDRESS } from '@upfront/devnet'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { privateKeyToAccount } from 'viem/accounts'

export const SELLER = DEVNET_ROLES.seller.address

export interface Offer {
  /** Smallest unit. */
  maximum?: string
  payTo?: string
  facilitator?: string
  maxTimeoutSeconds?: number
  network?: `eip155:${number}`
}

/** What a seller would ask. */
export function makeRequirements({
  maximum = '100000',
  payTo = SELLER,
  facilitator = DEVNET_ROLES.facilitators[0].address,
  maxTimeoutSeconds = 600,
  network = 'eip155:31337',
}: Offer = {}): PaymentRequirements {
  const extra = { name: 'USDC', version: '2', assetTransferMethod: 'permit2', facilitatorAddress: facilitator }
  return { scheme: 'upto', network, amount: maximum, asset: USDC_ADDRESS, payTo, maxTimeoutSeconds, extra }
}

/** A payload as @x402/evm's own client signs it. */
export async function sign(
  requirements: PaymentRequirements = makeRequirements(),
  buyer: DevnetAccount | ConstructorParameters<typeof UptoEvmScheme>[0] = DEVNET_ROLES.buyer,
): Promise<PaymentPayload> {
  const scheme = new UptoEvmScheme('privateKey' in buyer ? privateKeyToAccount(buyer.privateKey) : buyer)
  return { ...(await scheme.createPaymentPayload(2, requirements)), accepted: requirements } as PaymentPayload
}
