/** Faults that a `FaultProxy` can inject. Each was observed with real nodes, load balancers or networks. */
export const NODE_FAULTS = [
  /** Answers after `slowMs`. */
  'slow',
  /** Accepts the request and never answers. */
  'silent',
  /** Resets the connection before the node receives the request. */
  'reset',
  /** Forwards the request, then resets the connection instead of answering. */
  'reset-after',
  /** HTTP 429, alternately with and without Retry-After. */
  'http-429',
  'http-500',
  /** HTTP 200 with an HTML page. */
  'html',
  /** The right answer, truncated. */
  'truncated',
  /** HTTP 200 without a body. */
  'empty',
  /** `{}`, or an empty batch. */
  'empty-json',
  /** An answer with neither result nor error. */
  'neither',
  /** An answer with both. */
  'both',
  /** A JSON-RPC error for every call. */
  'rpc-error',
  /** Lacks the state of a block that exists: not synced yet, or one of several nodes behind the address. */
  'missing-state',
  /** A JSON-RPC error that quotes the full request URL. */
  'tells-url',
  /** `null` for every result. */
  'null-results',
  /** `null` for every block. */
  'null-blocks',
  /** The right answers with unknown ids. */
  'wrong-id',
  /** A batch's answers in another order. */
  'reordered',
  /** Only the first answers of a batch. */
  'cut-batches',
  /** One error object for a whole batch, as from nodes without batch support. */
  'refused-batches',
  /** HTTP 400 for a batch. */
  'forbidden-batches',
  /** Rejects block parameters that are not strings. */
  'no-eip-1898',
  /** Every other `latest` is the block before the head. */
  'head-goes-back',
  /** 200 MB of spaces. */
  'spaces',
] as const
export type NodeFault = (typeof NODE_FAULTS)[number]
