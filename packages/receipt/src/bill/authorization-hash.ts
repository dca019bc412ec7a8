import type { Hash } from '@upfront/protocol'
import { PERMIT2_ADDRESS, uptoPermit2WitnessTypes } from '@x402/evm'
import { type Address, getAddress, hashTypedData } from 'viem'

/** The Permit2 message that a buyer signs for x402's `upto` scheme, as in PAYMENT-SIGNATURE. Numbers are decimal strings. */
export interface Permit2Authorization {
  from: string
  permitted: { token: string; amount: string }
  spender: string
  nonce: string
  deadline: string
  witness: { to: string; facilitator: string; validAfter: string }
}

/**
 * The EIP-712 hash that the buyer signed: Permit2's `PermitWitnessTransferFrom` with the upto proxy's witness.
 * @param network CAIP-2, such as `eip155:8453`
 * @throws Error if a field is not an address or number
 */
export function authorizationHash(network: string, authorization: Permit2Authorization): Hash {
  const { permitted, spender, nonce, deadline, witness } = authorization
  return hashTypedData({
    domain: { name: 'Permit2', chainId: Number(network.split(':')[1]), verifyingContract: PERMIT2_ADDRESS },
    types: uptoPermit2WitnessTypes,
    primaryType: 'PermitWitnessTransferFrom',
    message: {
      permitted: { token: getAddress(permitted.token), amount: BigInt(permitted.amount) },
      spender: getAddress(spender),
      nonce: BigInt(nonce),
      deadline: BigInt(deadline),
      witness: {
        to: getAddress(witness.to),
        facilitator: getAddress(witness.facilitator) as Address,
        validAfter: BigInt(witness.validAfter),
      },
    },
  })
}
