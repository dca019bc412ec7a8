import type { Chain } from './chain.js'

/** What a permit adds to a settlement that gives its allowance for the first time. */
const PERMIT_GAS = 70_000n

/** What a permit may cost at the fees of now, in wei. Throws `NodeFault`. */
export async function sponsoredGas(chain: Chain): Promise<bigint> {
  return PERMIT_GAS * (await chain.fees()).maxFeePerGas
}
