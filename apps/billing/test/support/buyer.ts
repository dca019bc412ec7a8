import { DEVNET_ROLES, type DevnetAccount, USDC_ADDRESS } from '@upfront/devnet'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { privateKeyToAccount } from 'viem/accounts'

export const SELLER = DEVNET_ROLES.seller.address

export interface Offer {
  /** `upto` unless given. */
  scheme?: 'upto' | 'exact'
  /** Transfer method; `exact` supports both. */
  method?: 'permit2' | 'eip3009'
  /** Smallest unit. */
  maximum?: string
  payTo?: string
  facilitator?: string
  maxTimeoutSeconds?: number
  network?: `eip155:${number}`
}

/** Payment requirements as a seller sends them. */
export function makeRequirements({
  scheme = 'upto',
  method = 'permit2',
  maximum = '100000',
  payTo = SELLER,
  facilitator = DEVNET_ROLES.facilitators[0].address,
  maxTimeoutSeconds = 600,
  network = 'eip155:31337',
}: Offer = {}): PaymentRequirements {
  const named = scheme === 'upto' ? { facilitatorAddress: facilitator } : {}
  const extra = { name: 'USDC', version: '2', assetTransferMethod: method, ...named }
  return { scheme, network, amount: maximum, asset: USDC_ADDRESS, payTo, maxTimeoutSeconds, extra }
}

/** A payload as @x402/evm's own client signs it. */
export async function sign(
  requirements: PaymentRequirements = makeRequirements(),
  buyer: DevnetAccount | ConstructorParameters<typeof UptoEvmScheme>[0] = DEVNET_ROLES.buyer,
): Promise<PaymentPayload> {
  const account = 'privateKey' in buyer ? privateKeyToAccount(buyer.privateKey) : buyer
  const scheme = requirements.scheme === 'upto' ? new UptoEvmScheme(account) : new ExactEvmScheme(account)
  return { ...(await scheme.createPaymentPayload(2, requirements)), accepted: requirements } as PaymentPayload
}
