import type { Eip3009Authorization, Permit2Authorization, SignedAuthorization } from '@upfront/protocol'
import { authorizationTypes, PERMIT2_ADDRESS, permit2WitnessTypes, uptoPermit2WitnessTypes } from '@x402/evm'
import { isAddressEqual, numberToHex, recoverTypedDataAddress, type TypedDataDomain } from 'viem'

/**
 * Whether an ordinary account has signed this itself. No node is asked: a contract's signature is never one.
 * @param token the name and version of the token's EIP-712 domain, where EIP-3009 is signed
 */
export async function isSignedByPayer(
  authorization: SignedAuthorization,
  chainId: number,
  token: { name?: unknown; version?: unknown },
): Promise<boolean> {
  try {
    const signer =
      authorization.kind === 'exact-eip3009'
        ? await recoverEip3009(authorization, {
            ...token,
            chainId,
            verifyingContract: authorization.token,
          } as TypedDataDomain)
        : await recoverPermit2(authorization, chainId)
    return isAddressEqual(signer, authorization.payer)
  } catch {
    // Not a signature of that form.
    return false
  }
}

function recoverPermit2(authorization: Permit2Authorization, chainId: number) {
  const { token, maximum, spender, nonce, deadline, payTo: to, facilitator, validAfter, signature } = authorization
  const domain = { name: 'Permit2', chainId, verifyingContract: PERMIT2_ADDRESS }
  const permit = { permitted: { token, amount: maximum }, spender, nonce, deadline }
  const primaryType = 'PermitWitnessTransferFrom'
  if (authorization.kind === 'exact-permit2' || facilitator === null) {
    const message = { ...permit, witness: { to, validAfter } }
    return recoverTypedDataAddress({ domain, types: permit2WitnessTypes, primaryType, message, signature })
  }
  const message = { ...permit, witness: { to, facilitator, validAfter } }
  return recoverTypedDataAddress({ domain, types: uptoPermit2WitnessTypes, primaryType, message, signature })
}

function recoverEip3009(
  { payer, payTo, maximum, validAfter, deadline, nonce, signature }: Eip3009Authorization,
  domain: TypedDataDomain,
) {
  return recoverTypedDataAddress({
    domain,
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      from: payer,
      to: payTo,
      value: maximum,
      validAfter,
      validBefore: deadline + 1n,
      nonce: numberToHex(nonce, { size: 32 }),
    },
    signature,
  })
}
