import type { Eip3009Authorization, Hex, Permit2Authorization, SignedAuthorization } from '@upfront/protocol'
import { authorizationTypes, PERMIT2_ADDRESS, permit2WitnessTypes, uptoPermit2WitnessTypes } from '@x402/evm'
import { recover } from 'tiny-secp256k1'
import { hashTypedData, hexToBytes, keccak256, numberToHex, size, type TypedDataDomain } from 'viem'

/**
 * The EIP-712 digest if the payer's own key signed it, else `null`. Asks no node, so a contract's signature always gives `null`.
 * @param token name and version of the token's EIP-712 domain, for EIP-3009
 */
export function recoverSigned(
  authorization: SignedAuthorization,
  chainId: number,
  token: { name?: unknown; version?: unknown },
): Hex | null {
  const { signature, payer } = authorization
  // Like @x402/evm, recovers nothing from a signature of another length.
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
    return recoverSigner(hash, signature) === payer ? hash : null
  } catch {
    // Not a recoverable signature.
    return null
  }
}

/** Like viem's `recoverAddress`, in a fifth of the time (libsecp256k1 as WebAssembly). Throws if the signature is invalid. */
function recoverSigner(hash: Hex, signature: Hex): string {
  const bytes = hexToBytes(signature)
  const [v = 0] = bytes.subarray(64)
  if (v > 1 && v !== 27 && v !== 28) throw new Error('neither a recovery bit nor 27 or 28')
  const key = recover(hexToBytes(hash), bytes.subarray(0, 64), v % 27 === 1 ? 1 : 0, false)
  if (key === null) throw new Error('no key has signed this')
  return `0x${keccak256(key.subarray(1)).slice(-40)}`
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
