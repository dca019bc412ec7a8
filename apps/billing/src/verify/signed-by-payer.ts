import type { UptoAuthorization } from '@upfront/protocol'
import { PERMIT2_ADDRESS, uptoPermit2WitnessTypes } from '@x402/evm'
import { isAddressEqual, recoverTypedDataAddress } from 'viem'

/** Whether an ordinary account has signed this itself. No node is asked: a contract's signature is never one. */
export async function isSignedByPayer(authorization: UptoAuthorization, chainId: number): Promise<boolean> {
  const { payer, token, maximum, spender, nonce, deadline, payTo, facilitator, validAfter, signature } = authorization
  try {
    const signer = await recoverTypedDataAddress({
      domain: { name: 'Permit2', chainId, verifyingContract: PERMIT2_ADDRESS },
      types: uptoPermit2WitnessTypes,
      primaryType: 'PermitWitnessTransferFrom',
      message: {
        permitted: { token, amount: maximum },
        spender,
        nonce,
        deadline,
        witness: { to: payTo, facilitator, validAfter },
      },
      signature,
    })
    return isAddressEqual(signer, payer)
  } catch {
    // Not a signature of that form.
    return false
  }
}
