import { ErrorCode, RpcError } from '@upfront/protocol'

/** The block that a request is pinned to can no longer be read. A request by tag or number is run again. */
export class BlockMoved extends RpcError {
  constructor(upstream: string, message: string) {
    super(ErrorCode.internalError, `upstream ${upstream}: ${message}`, { upstream, fault: 'block-moved' }, 502)
  }
}
