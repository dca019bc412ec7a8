import type { Address } from '@upfront/protocol'
import type { SignerCapacity } from '../../ledger/claim-work.js'
import type { PaymentOrigin, PaymentRow } from '../../ledger/schema.js'

/**
 * How many more charges of an origin each signer may take up. Strangers get half of what a signer may have in flight, so that
 * they never keep an own seller's charge waiting for a block.
 *
 * @param taken what each signer has in flight or is about to sign
 * @param inFlightPerSigner what nodes' pools hold of one sender
 */
export function freeCapacities(
  origin: PaymentOrigin,
  signers: readonly Address[],
  taken: readonly SignerCapacity[],
  inFlightPerSigner: number,
): SignerCapacity[] {
  const countTaken = (isCounted: (capacity: SignerCapacity) => boolean) =>
    taken.filter(isCounted).reduce((total, { count }) => total + count, 0)
  const half = Math.max(1, Math.floor(inFlightPerSigner / 2))
  return signers
    .map((signer) => {
      const free = inFlightPerSigner - countTaken((capacity) => capacity.signer === signer)
      if (origin === 'internal') return { signer, origin, count: free }
      const strangers = countTaken((capacity) => capacity.signer === signer && capacity.origin === origin)
      return { signer, origin, count: Math.min(free, half - strangers) }
    })
    .filter(({ count }) => count > 0)
}

/** What one charge takes of its signer. */
export function capacityOf({
  facilitator: signer,
  origin,
}: Pick<PaymentRow, 'facilitator' | 'origin'>): SignerCapacity {
  return { signer, origin, count: 1 }
}
