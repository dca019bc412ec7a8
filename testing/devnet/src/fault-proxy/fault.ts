/** What a `FaultProxy` can do to a request. Real nodes, load balancers and networks were seen to do each of these. */
export const NODE_FAULTS = [
  /** Answers after `slowMs`. */
  'slow',
  /** Takes the request and never answers. */
  'silent',
  /** Resets the connection; the node does not see the request. */
  'reset',
  /** Passes the request on, then resets the connection instead of answering. */
  'reset-after',
  /** HTTP 429, with and without Retry-After in turn. */
  'http-429',
  'http-500',
  /** HTTP 200 with a page of HTML. */
  'html',
  /** The right answer, cut in the middle. */
  'truncated',
  /** HTTP 200 with no body. */
  'empty',
  /** `{}`, or an empty batch. */
  'empty-json',
  /** An answer with neither result nor error. */
  'neither',
  /** An answer with both. */
  'both',
  /** A JSON-RPC error for every call. */
  'rpc-error',
  /** No state of a block that the node has: it did not get there yet, or is one of several behind the address. */
  'missing-state',
  /** A JSON-RPC error that quotes the whole request URL. */
  'tells-url',
  /** `null` for every result. */
  'null-results',
  /** `null` for every block. */
  'null-blocks',
  /** The right answers under ids that nobody asked for. */
  'wrong-id',
  /** A batch's answers in another order. */
  'reordered',
  /** Only the first answers of a batch. */
  'cut-batches',
  /** One error object for a whole batch, as nodes without batches answer. */
  'refused-batches',
  /** HTTP 400 for a batch. */
  'forbidden-batches',
  /** Block parameters must be strings. */
  'no-eip-1898',
  /** Every other `latest` is the block before the head. */
  'head-goes-back',
  /** 200 MB of spaces. */
  'spaces',
] as const
export type NodeFault = (typeof NODE_FAULTS)[number]
