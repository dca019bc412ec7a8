interface ReadMethod {
  /** How many parameters geth accepts. Methods with parameters of our own count them themselves. */
  maxParams?: number
  /** Its answer is short, or it reserves memory for a longer one: several calls of a request may run concurrently. */
  isShort?: boolean
  /** The upstream may answer it unless PASSTHROUGH_METHODS says otherwise. */
  isPassedThrough?: boolean
}

/** Clients need more than simulation: viem's `simulateCalls` uses access lists, wallets use balances. */
export const READ_METHODS: Readonly<Record<string, ReadMethod>> = {
  eth_blobBaseFee: { maxParams: 0, isShort: true, isPassedThrough: true },
  eth_blockNumber: { maxParams: 0, isShort: true },
  eth_call: { isShort: true, isPassedThrough: true },
  eth_chainId: { maxParams: 0, isShort: true },
  eth_config: { isPassedThrough: true },
  eth_createAccessList: { maxParams: 3 },
  eth_estimateGas: { isShort: true, isPassedThrough: true },
  eth_feeHistory: { maxParams: 3, isShort: true, isPassedThrough: true },
  eth_gasPrice: { maxParams: 0, isShort: true, isPassedThrough: true },
  eth_getBalance: { maxParams: 2, isShort: true, isPassedThrough: true },
  eth_getBlockByHash: { maxParams: 2, isPassedThrough: true },
  eth_getBlockByNumber: { maxParams: 2, isPassedThrough: true },
  eth_getBlockReceipts: { maxParams: 1, isPassedThrough: true },
  eth_getBlockTransactionCountByHash: { maxParams: 1, isShort: true, isPassedThrough: true },
  eth_getBlockTransactionCountByNumber: { maxParams: 1, isShort: true, isPassedThrough: true },
  eth_getCode: { maxParams: 2, isShort: true, isPassedThrough: true },
  eth_getFilterChanges: { maxParams: 1 },
  eth_getFilterLogs: { maxParams: 1 },
  eth_getLogs: { maxParams: 1, isPassedThrough: true },
  eth_getProof: { maxParams: 3, isPassedThrough: true },
  eth_getStorageAt: { maxParams: 3, isShort: true, isPassedThrough: true },
  eth_getTransactionByBlockHashAndIndex: { maxParams: 2, isShort: true, isPassedThrough: true },
  eth_getTransactionByBlockNumberAndIndex: { maxParams: 2, isShort: true, isPassedThrough: true },
  eth_getTransactionByHash: { maxParams: 1, isShort: true, isPassedThrough: true },
  eth_getTransactionCount: { maxParams: 2, isShort: true, isPassedThrough: true },
  eth_getTransactionReceipt: { maxParams: 1, isShort: true, isPassedThrough: true },
  eth_maxPriorityFeePerGas: { maxParams: 0, isShort: true, isPassedThrough: true },
  eth_newBlockFilter: { maxParams: 0 },
  eth_newFilter: { maxParams: 1 },
  eth_newPendingTransactionFilter: { maxParams: 1 },
  eth_syncing: { isShort: true, isPassedThrough: true },
  eth_uninstallFilter: { maxParams: 1 },
  net_version: { isShort: true, isPassedThrough: true },
}

export const SHORT_READS: ReadonlySet<string> = new Set(namesWith('isShort'))
export const DEFAULT_PASSTHROUGH_METHODS = namesWith('isPassedThrough')

function namesWith(property: 'isShort' | 'isPassedThrough'): string[] {
  return Object.keys(READ_METHODS).filter((name) => READ_METHODS[name]![property])
}
