import { ecrecover, publicToAddress } from '@ethereumjs/util'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { type Address, type Authorization, ZERO_ADDRESS } from '@upfront/protocol'
import { encodeRlp, withType } from '../seal/rlp.js'
import type { AccessJournal } from '../state/access-journal.js'
import { delegationTarget, MAX_NONCE } from '../state/account-record.js'
import { bytesOf, EMPTY_BYTES, hash32, hexOf } from '../state/bytes.js'
import { type WorldState } from '../state/world-state.js'
import { AUTHORIZATION } from './intrinsic-gas.js'

const SIGNING_MAGIC = 0x05
/** EIP-7702, PER_AUTH_BASE_COST */
const AUTHORIZATION_BASE = 12_500n
const SECP256K1_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/**
 * Installs the valid delegations (EIP-7702) and ignores the others. Returns the refund for authorities that existed.
 * @param onAuthority called with each account that signed, whether its authorization is valid or not
 */
export async function applyAuthorizations(
  authorizations: readonly Authorization[],
  chainId: bigint,
  world: WorldState,
  journal: AccessJournal,
  onAuthority: (authority: Address) => void,
): Promise<bigint> {
  let refund = 0n
  for (const authorization of authorizations) {
    if (authorization.chainId !== 0n && authorization.chainId !== chainId) continue
    if (authorization.nonce >= MAX_NONCE) continue
    const authority = recoverAuthority(authorization)
    if (!authority) continue
    onAuthority(authority)
    journal.warm(authority)
    const { code, nonce, exists } = await world.account(authority)
    if (code.length > 0 && !delegationTarget(code)) continue
    if (nonce !== authorization.nonce) continue
    if (exists) refund += AUTHORIZATION - AUTHORIZATION_BASE
    await world.update(authority, { nonce: nonce + 1n, code: designator(authorization.address) })
  }
  return refund
}

/** Who signed it, or would. */
export function recoverAuthority({
  chainId,
  address,
  nonce,
  yParity,
  r,
  s,
  authority,
}: Authorization): Address | undefined {
  if (authority !== undefined) return authority
  if (yParity > 1n || r === 0n || s === 0n || r >= SECP256K1_ORDER || s > SECP256K1_ORDER / 2n) return undefined
  const hash = keccak_256(withType(SIGNING_MAGIC, encodeRlp([chainId, address, nonce])))
  try {
    return hexOf(publicToAddress(ecrecover(hash, yParity, bytesOf(hash32(r)), bytesOf(hash32(s)))))
  } catch {
    // The signature belongs to no point of the curve.
    return undefined
  }
}

/** The zero address clears a delegation. */
function designator(address: Address): Uint8Array {
  return address === ZERO_ADDRESS ? EMPTY_BYTES : bytesOf(`0xef0100${address.slice(2)}`)
}
