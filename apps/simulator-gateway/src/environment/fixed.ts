/** Limits and intervals that are not configurable. */
export const FIXED = {
  /** How often a sample of the carried values is compared with the node's. */
  carryAuditMs: 60_000,
  /** `FOLLOW_HEAD=auto` stops following after this long without a request. */
  followIdleMs: 60_000,
  /** Longest wait for the state named by `upfront-min-state`. */
  minStateWaitMs: 500,
  /** Time for a request's headers and body to arrive. */
  bodyMs: 30_000,
  /** Time for an answer over 64 KiB to be read. */
  answerMs: 60_000,
  /** Most values in a JSON body, at any depth. */
  jsonValues: 300_000,
  /** Most calls in one simulated block. */
  callsPerBlock: 5_000,
  /** Largest message of a Flashblocks stream, decompressed. */
  flashblockBytes: 16 * 1024 * 1024,
}
