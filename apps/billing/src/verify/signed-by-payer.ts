import type { Eip3009Authorization, Hex, Permit2Authorization, SignedAuthorization } from '@upfront/protocol'
import { authorizationTypes, PERMIT2_ADDRESS, permit2WitnessTypes, uptoPermit2WitnessTypes } from '@x402/evm'
import { hashTypedData, isAddressEqual, numberToHex, recoverAddress, size, type TypedDataDomain } from 'viem'

/**
 * The EIP-712 digest that an ordinary account has signed itself; `null`: its key has not. No node is asked: a contract's signature is
 * never one.
 * @param token the name and version of the token's EIP-712 domain, where EIP-3009 is signed
 */
export async function recoverSigned(
  authorization: SignedAuthorization,
  chainId: number,
  token: { name?: unknown; version?: unknown },
): Promise<Hex | null> {
  const { signature, payer } = authorization
  // As @x402/evm: of a signature in another form it recovers nothing.
  if (size(signature) !== 65) return null
  try {
    const hash =
      authorization.kind === 'exact-eip3009'
        ? hashEip3009(authorization, {
            ...token,
            chainId,
            verifyingContract: authorization.token,
          } as TypedDataDomain)
        : hashPermit2(authorization, chainId)
    return isAddressEqual(await recoverAddress({ hash, signature }), payer) ? hash : null
  } catch {
    // Not a signature of that form.
    return null
  }
}

function hashPermit2(authorization: Permit2Authorization, chainId: number) {
  const { token, maximum, spender, nonce, deadline, payTo: to, facilitator, validAfter } = authorization
  const domain = { name: 'Permit2', chainId, verifyingContract: PERMIT2_ADDRESS }
  const permit = { permitted: { token, amount: maximum }, spender, nonce, deadline }
  const primaryType = 'PermitWitnessTransferFrom'
  if (authorization.kind === 'exact-permit2' || facilitator === null) {
    const message = { ...permit, witness: { to, validAfter } }
    return hashTypedData({ domain, types: permit2WitnessTypes, primaryType, message })
  }
  const message = { ...permit, witness: { to, facilitator, validAfter } }
  return hashTypedData({ domain, types: uptoPermit2WitnessTypes, primaryType, message })
}

function hashEip3009(
  { payer, payTo, maximum, validAfter, deadline, nonce }: Eip3009Authorization,
  domain: TypedDataDomain,
) {
  return hashTypedData({
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
  })
}
