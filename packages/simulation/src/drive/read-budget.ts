import { ErrorCode, RpcError } from '@upfront/protocol'

/** How much one request may read from the node, and how much it did. */
export class ReadBudget {
  /** Values asked of the node so far. */
  used = 0

  constructor(
    /** Values at most. */
    private readonly limit: number,
    /** `performance.now()` at which reading ends, whatever the node does. */
    readonly deadline: number,
  ) {}

  /** @throws RpcError -32005 where that is too much */
  take(values: number): void {
    this.used += values
    if (this.used <= this.limit) return
    throw new RpcError(
      ErrorCode.limitExceeded,
      `the request reads more than ${this.limit} values of state that are not cached`,
      { limit: this.limit },
    )
  }
}
