import { ErrorCode, RpcError } from '@upfront/protocol'
import type { RpcMethod } from '../requests/rpc-method.js'

/** How many parameters geth accepts. Methods with parameters of our own are missing: they count themselves. */
const MAX_PARAMS: Readonly<Record<string, number>> = {
  eth_blobBaseFee: 0,
  eth_blockNumber: 0,
  eth_chainId: 0,
  eth_createAccessList: 3,
  eth_feeHistory: 3,
  eth_gasPrice: 0,
  eth_getBalance: 2,
  eth_getBlockByHash: 2,
  eth_getBlockByNumber: 2,
  eth_getBlockReceipts: 1,
  eth_getBlockTransactionCountByHash: 1,
  eth_getBlockTransactionCountByNumber: 1,
  eth_getCode: 2,
  eth_getFilterChanges: 1,
  eth_getFilterLogs: 1,
  eth_getLogs: 1,
  eth_getProof: 3,
  eth_getStorageAt: 3,
  eth_getTransactionByBlockHashAndIndex: 2,
  eth_getTransactionByBlockNumberAndIndex: 2,
  eth_getTransactionByHash: 1,
  eth_getTransactionCount: 2,
  eth_getTransactionReceipt: 1,
  eth_maxPriorityFeePerGas: 0,
  eth_newBlockFilter: 0,
  eth_newFilter: 1,
  eth_newPendingTransactionFilter: 1,
  eth_uninstallFilter: 1,
}

/** Adds geth's error for too many parameters to these methods. */
export function refuseMoreParams(methods: Map<string, RpcMethod>): void {
  for (const [name, most] of Object.entries(MAX_PARAMS)) {
    const method = methods.get(name)
    if (method === undefined) continue
    methods.set(name, (params, context) => {
      if (!Array.isArray(params) || params.length <= most) return method(params, context)
      throw new RpcError(ErrorCode.invalidParams, `too many arguments, want at most ${most}`)
    })
  }
}
