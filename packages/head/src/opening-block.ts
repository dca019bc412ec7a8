import type { BlockOverrides } from '@upfront/protocol'

/**
 * What is known of the first simulated block where it is one under construction (`pending`): its overrides for whatever the
 * request does not override.
 */
export type OpeningBlock = Pick<
  BlockOverrides,
  'timestamp' | 'gasLimit' | 'feeRecipient' | 'prevRandao' | 'baseFeePerGas' | 'beaconRoot'
>
