import { ErrorCode, RpcError } from '@upfront/protocol'

/** The block that a request stood on is no longer there to be read. Who asked by tag or number runs again. */
export class BlockMoved extends RpcError {
  constructor(upstream: string, message: string) {
    super(ErrorCode.internalError, `upstream ${upstream}: ${message}`, { upstream, fault: 'block-moved' }, 502)
  }
}
