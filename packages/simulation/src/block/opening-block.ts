import type { BlockOverrides } from '@upfront/protocol'

/**
 * The environment of the first simulated block where it is one under construction (`pending`), for what the request does not
 * override.
 */
export type OpeningBlock = Pick<
  BlockOverrides,
  'timestamp' | 'gasLimit' | 'feeRecipient' | 'prevRandao' | 'baseFeePerGas' | 'beaconRoot'
>
