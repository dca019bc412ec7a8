import type { Call, Hash, Hex } from '@upfront/protocol'
import type { SignedFields } from '../present/present-pending-block.js'

/** A signed transaction as a call, with all signed fields. */
export interface SignedCall {
  call: Call
  hash: Hash
}

/** Half of secp256k1's order: EIP-2 rejects a higher `s`. */
const MAX_S = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

/**
 * Decodes a signed transaction. viem is loaded on first use, because that is slow.
 * @param raw as for `eth_sendRawTransaction`, with or without blobs
 * @throws Error with the reason if it is invalid, or for another chain
 */
export async function readSignedCall(raw: Hex, chainId: bigint): Promise<SignedCall> {
  const { keccak256, parseTransaction, recoverTransactionAddress, serializeTransaction } = await import('viem')
  let transaction: ReturnType<typeof parseTransaction<Hex>>
  try {
    transaction = parseTransaction(raw)
  } catch {
    throw new Error('expected a signed transaction: the bytes are not one')
  }
  const { r, s, v, yParity, chainId: signedFor }: SignedFields = transaction
  if (r === undefined || s === undefined || (v === undefined && yParity === undefined))
    throw new Error('expected a signed transaction: it has no signature')
  if (signedFor !== undefined && BigInt(signedFor) !== chainId)
    throw new Error(`is signed for chain ${signedFor}, this is chain ${chainId}`)
  // Blobs of the pooled form are not signed.
  const { sidecars: _, ...signed } = transaction as typeof transaction & { sidecars?: unknown }
  const sealed = serializeTransaction(signed as never, { r, s, ...(v === undefined ? { yParity } : { v }) } as never)
  const hasBlobs = transaction.type === 'eip4844' && 'sidecars' in transaction
  if (!hasBlobs && sealed !== raw) throw new Error('expected a signed transaction: the bytes are not canonical RLP')
  const from = await recoverTransactionAddress({ serializedTransaction: sealed as never }).catch(() => undefined)
  if (from === undefined || BigInt(s) > MAX_S)
    throw new Error('expected a signed transaction: its signature is not valid')
  return { call: callOf(transaction, from.toLowerCase() as Hex, chainId), hash: keccak256(sealed) }
}

function callOf(fields: SignedFields, from: Hex, chainId: bigint): Call {
  const { to, gas = 0n, value = 0n, nonce = 0, data = '0x', accessList, authorizationList } = fields
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas, maxFeePerBlobGas, blobVersionedHashes } = fields
  const isDynamic = fields.type !== 'legacy' && fields.type !== 'eip2930'
  return {
    from,
    ...(to && { to: to.toLowerCase() as Hex }),
    gas,
    value,
    nonce: BigInt(nonce),
    input: data,
    ...(fields.chainId !== undefined && { chainId }),
    ...(isDynamic
      ? { maxFeePerGas: maxFeePerGas ?? 0n, maxPriorityFeePerGas: maxPriorityFeePerGas ?? 0n }
      : { gasPrice: gasPrice ?? 0n }),
    ...(accessList && {
      accessList: accessList.map(({ address, storageKeys }) => ({
        address: address.toLowerCase() as Hex,
        storageKeys: [...storageKeys],
      })),
    }),
    ...(blobVersionedHashes && {
      blobVersionedHashes: [...blobVersionedHashes],
      maxFeePerBlobGas: maxFeePerBlobGas ?? 0n,
    }),
    ...(authorizationList && {
      authorizationList: authorizationList.map((signed) => ({
        chainId: BigInt(signed.chainId),
        address: signed.address.toLowerCase() as Hex,
        nonce: BigInt(signed.nonce),
        yParity: BigInt(signed.yParity ?? 0),
        r: BigInt(signed.r ?? 0),
        s: BigInt(signed.s ?? 0),
      })),
    }),
  }
}
