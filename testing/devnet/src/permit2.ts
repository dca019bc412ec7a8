import { concat, encodeAbiParameters, type Hex, keccak256, numberToHex, size, slice, toHex } from 'viem'
import { readArtifact } from './artifact.js'

/** Permit2's address on every chain. */
export const PERMIT2_ADDRESS = '0x000000000022D473030F116dDEE9F6B43aC78BA3'

/** Permit2's EIP-712 domain separator at its canonical address on a chain. */
export function permit2DomainSeparator(chainId: number): Hex {
  return keccak256(
    encodeAbiParameters(
      [{ type: 'bytes32' }, { type: 'bytes32' }, { type: 'uint256' }, { type: 'address' }],
      [
        keccak256(toHex('EIP712Domain(string name,uint256 chainId,address verifyingContract)')),
        keccak256(toHex('Permit2')),
        BigInt(chainId),
        PERMIT2_ADDRESS,
      ],
    ),
  )
}

/**
 * Permit2's runtime code as its constructor creates it at the canonical address on a chain. The cached chain id and domain separator are
 * immutables, so code copied from another chain would return a wrong DOMAIN_SEPARATOR.
 */
export function permit2Code(chainId: number): Hex {
  const { deployedBytecode, immutables } = readArtifact('Permit2')
  const withChainId = replaceWord(deployedBytecode, immutables.chainId, numberToHex(chainId, { size: 32 }))
  return replaceWord(withChainId, immutables.domainSeparator, permit2DomainSeparator(chainId))
}

function replaceWord(code: Hex, offset: number, word: Hex): Hex {
  return concat([slice(code, 0, offset), word, slice(code, offset + 32, size(code))])
}
