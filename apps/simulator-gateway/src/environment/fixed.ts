/** What nobody would choose. */
export const FIXED = {
  /** How often some carried values are compared with the node's. */
  carryAuditMs: 60_000,
  /** After so long without a request `FOLLOW_HEAD=auto` stops following. */
  followIdleMs: 60_000,
  /** For the state that a request's `upfront-min-state` names. */
  minStateWaitMs: 500,
  /** For headers and body of a request to arrive. */
  bodyMs: 30_000,
  /** For an answer over 64 KiB to be read. */
  answerMs: 60_000,
  /** Of a JSON body, however nested. */
  jsonValues: 300_000,
  /** Of one simulated block. */
  callsPerBlock: 5_000,
  /** Of a message of a Flashblocks stream, decompressed. */
  flashblockBytes: 16 * 1024 * 1024,
}
