/** How far the clocks of seller, buyer and chain may differ, seconds. */
export const CLOCK_SKEW = 60
