import { type Hash, type Hex, type LogFilter, logMatches, toQuantity, ZERO_HASH } from '@upfront/protocol'
import { fromRlp, hexToBytes, parseTransaction } from 'viem'
import { parseTransaction as parseOpTransaction } from 'viem/op-stack'
import type { BlockEnvironment, ExecutedReceipt, PreconfirmedTransaction } from '../engine/preconfirmation-executor.js'
import { isOpForkActive } from '../plan/base-fee.js'
import { isForkActive } from '../plan/rules-at.js'
import { orderedTrieRoot } from './ordered-trie.js'

const EMPTY_UNCLES: Hash = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'
const EMPTY_ROOT: Hash = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'
/** SHA-256 of nothing (EIP-7685). */
const NO_REQUESTS: Hash = '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const DEPOSIT_TYPE = '0x7e'

/** A block under construction, as far as it is executed. */
export interface PendingBlock {
  /** The sequencer's hash of the block so far. */
  hash: Hash
  environment: BlockEnvironment
  transactions: readonly PreconfirmedTransaction[]
  /** One for each transaction, in order. */
  receipts: readonly ExecutedReceipt[]
  gasUsed: bigint
  blobGasUsed: bigint
  receiptsRoot: Hash
  logsBloom: Hex
  /** From the sequencer. */
  withdrawalsRoot?: Hash
}

/**
 * `eth_getBlockByNumber("pending")`: the block under construction with its transactions so far. `hash` is the sequencer's hash of the block
 * so far, the same in every answer of this snapshot. The state root is zero: it is unknown until sealing.
 */
export function presentPendingBlock(block: PendingBlock, fullTransactions: boolean) {
  const { environment } = block
  return {
    hash: block.hash,
    parentHash: environment.parentHash,
    sha3Uncles: EMPTY_UNCLES,
    miner: environment.feeRecipient,
    stateRoot: ZERO_HASH,
    transactionsRoot: transactionsRoot(block),
    receiptsRoot: block.receiptsRoot,
    logsBloom: block.logsBloom,
    difficulty: '0x0',
    number: toQuantity(environment.number),
    gasLimit: toQuantity(environment.gasLimit),
    gasUsed: toQuantity(block.gasUsed),
    timestamp: toQuantity(environment.timestamp),
    extraData: environment.extraData,
    mixHash: environment.prevRandao,
    nonce: '0x0000000000000000',
    baseFeePerGas: toQuantity(environment.baseFeePerGas),
    size: toQuantity(block.transactions.reduce((size, { raw }) => size + (raw.length - 2) / 2, 600)),
    uncles: [],
    withdrawals: [],
    // From Isthmus on, it is the message passer's storage root, which only the sequencer knows before sealing.
    withdrawalsRoot: block.withdrawalsRoot ?? (isOpForkActive(environment.rules, 'isthmus') ? ZERO_HASH : EMPTY_ROOT),
    ...(environment.excessBlobGas !== undefined && {
      blobGasUsed: toQuantity(block.blobGasUsed),
      excessBlobGas: toQuantity(environment.excessBlobGas),
    }),
    ...(environment.parentBeaconBlockRoot && { parentBeaconBlockRoot: environment.parentBeaconBlockRoot }),
    // OP-stack blocks have no requests.
    ...(isForkActive(environment.rules.fork, 'prague') && { requestsHash: NO_REQUESTS }),
    transactions: block.transactions.map((transaction, i) =>
      fullTransactions ? transactionToRpc(block, transaction, i) : transaction.hash,
    ),
  }
}

const rootOf = new WeakMap<PendingBlock, Hash>()

/** Blocks are immutable: the root is computed once, when the block is first shown. */
function transactionsRoot(block: PendingBlock): Hash {
  const known = rootOf.get(block)
  if (known !== undefined) return known
  const root = orderedTrieRoot(block.transactions.map(({ raw }) => hexToBytes(raw)))
  rootOf.set(block, root)
  return root
}

/** `eth_getTransactionByBlock…AndIndex`; undefined if the block has fewer transactions. */
export function presentPendingTransactionAt(block: PendingBlock, index: bigint) {
  const transaction = block.transactions[Number(index)]
  return transaction && transactionToRpc(block, transaction, Number(index))
}

/** `eth_getTransactionByHash` for a pre-confirmed transaction; undefined if no block has it. */
export function presentPendingTransaction(blocks: readonly PendingBlock[], hash: Hash) {
  const found = find(blocks, hash)
  return found && transactionToRpc(found.block, found.transaction, found.index)
}

/** `eth_getTransactionReceipt` for a pre-confirmed transaction; undefined if no block has it. */
export function presentPendingReceipt(blocks: readonly PendingBlock[], hash: Hash) {
  const found = find(blocks, hash)
  return found && receiptToRpc(found, logsBefore(found.block, found.index))
}

/** `eth_getBlockReceipts` for a block under construction. */
export function presentPendingReceipts(block: PendingBlock) {
  let before = 0
  return block.transactions.flatMap((transaction, index) => {
    const receipt = block.receipts[index]
    if (receipt === undefined) return []
    const shown = receiptToRpc({ block, transaction, receipt, index }, before)
    before += receipt.logs.length
    return [shown]
  })
}

function receiptToRpc({ block, transaction, receipt, index }: Found, before: number) {
  return {
    ...placeOf(block, transaction, index),
    type: toQuantity(receipt.type),
    status: receipt.succeeded ? '0x1' : '0x0',
    from: transaction.from,
    to: transaction.to,
    contractAddress: receipt.contractAddress,
    cumulativeGasUsed: toQuantity(receipt.cumulativeGasUsed),
    gasUsed: toQuantity(receipt.gasUsed),
    effectiveGasPrice: toQuantity(receipt.effectiveGasPrice),
    ...(receipt.blobGasUsed !== undefined && { blobGasUsed: toQuantity(receipt.blobGasUsed) }),
    ...Object.fromEntries(Object.entries(receipt.rollup ?? {}).map(([name, value]) => [name, toQuantity(value)])),
    logs: logsOf(block, index, before),
    ...encodedFields(receipt),
  }
}

function placeOf(block: PendingBlock, { hash }: PreconfirmedTransaction, index: number) {
  return {
    blockHash: block.hash,
    blockNumber: toQuantity(block.environment.number),
    transactionHash: hash,
    transactionIndex: toQuantity(index),
  }
}

function logsBefore({ receipts }: PendingBlock, index: number): number {
  return receipts.slice(0, index).reduce((count, { logs }) => count + logs.length, 0)
}

/** All logs of a pre-confirmed block, in the format of `eth_getLogs`. */
export function pendingLogs(block: PendingBlock): PendingLog[] {
  let before = 0
  return block.receipts.flatMap(({ logs }, index) => {
    const shown = logsOf(block, index, before)
    before += logs.length
    return shown
  })
}

export type PendingLog = ReturnType<typeof logsOf>[number]

function logsOf(block: PendingBlock, index: number, before: number) {
  const transaction = block.transactions[index]
  if (transaction === undefined) return []
  const place = placeOf(block, transaction, index)
  return (block.receipts[index]?.logs ?? []).map((log, i) => ({
    address: log.address,
    topics: log.topics,
    data: log.data,
    ...place,
    blockTimestamp: toQuantity(block.environment.timestamp),
    logIndex: toQuantity(before + i),
    removed: false,
  }))
}

interface Found {
  block: PendingBlock
  transaction: PreconfirmedTransaction
  receipt: ExecutedReceipt
  index: number
}

function find(blocks: readonly PendingBlock[], hash: Hash): Found | undefined {
  for (const block of blocks) {
    const index = block.transactions.findIndex((transaction) => transaction.hash === hash)
    const transaction = block.transactions[index]
    const receipt = block.receipts[index]
    if (transaction && receipt) return { block, transaction, receipt, index }
  }
  return undefined
}

/**
 * Decodes the consensus encoding: the type byte (absent for type 0), then a list of status, cumulative gas, bloom and logs; for deposits
 * from Canyon on also the sender's nonce and a version.
 */
function encodedFields(receipt: ExecutedReceipt) {
  const list = receipt.type === 0 ? receipt.encoded : (`0x${receipt.encoded.slice(4)}` as const)
  const [, , logsBloom = '0x', , nonce, version] = fromRlp(list, 'hex') as Hex[]
  const quantity = (bytes: Hex) => toQuantity(bytes === '0x' ? 0n : BigInt(bytes))
  return {
    logsBloom,
    ...(nonce !== undefined && { depositNonce: quantity(nonce) }),
    ...(version !== undefined && { depositReceiptVersion: quantity(version) }),
  }
}

function transactionToRpc(block: PendingBlock, transaction: PreconfirmedTransaction, index: number) {
  return {
    ...signedFields(transaction.raw),
    hash: transaction.hash,
    from: transaction.from,
    nonce: toQuantity(transaction.nonce),
    to: transaction.to,
    blockHash: block.hash,
    blockNumber: toQuantity(block.environment.number),
    blockTimestamp: toQuantity(block.environment.timestamp),
    transactionIndex: toQuantity(index),
    gasPrice: toQuantity(block.receipts[index]?.effectiveGasPrice ?? 0n),
  }
}

const TYPES = { legacy: '0x0', eip2930: '0x1', eip1559: '0x2', eip4844: '0x3', eip7702: '0x4' } as const

/** The signed fields of all types of transaction, as viem decodes them. */
export interface SignedFields {
  type?: 'legacy' | 'eip2930' | 'eip1559' | 'eip4844' | 'eip7702' | undefined
  chainId?: number | undefined
  to?: Hex | null | undefined
  gas?: bigint | undefined
  value?: bigint | undefined
  nonce?: number | undefined
  data?: Hex | undefined
  gasPrice?: bigint | undefined
  maxFeePerGas?: bigint | undefined
  maxPriorityFeePerGas?: bigint | undefined
  maxFeePerBlobGas?: bigint | undefined
  accessList?: readonly { address: Hex; storageKeys: readonly Hash[] }[] | undefined
  blobVersionedHashes?: readonly Hash[] | undefined
  authorizationList?: readonly ({ chainId: number; address: Hex; nonce: number } & Signature)[] | undefined
  v?: bigint | undefined
  yParity?: number | undefined
  r?: Hex | undefined
  s?: Hex | undefined
}

type Signature = Pick<SignedFields, 'r' | 's' | 'yParity'>

function signedFields(raw: Hex) {
  if (raw.startsWith(DEPOSIT_TYPE)) {
    const deposit = parseOpTransaction(raw as `0x7e${string}`)
    return {
      type: DEPOSIT_TYPE,
      sourceHash: deposit.sourceHash,
      mint: toQuantity(deposit.mint ?? 0n),
      isSystemTx: deposit.isSystemTx ?? false,
      gas: toQuantity(deposit.gas ?? 0n),
      value: toQuantity(deposit.value ?? 0n),
      input: deposit.data ?? '0x',
      v: '0x0',
      r: '0x0',
      s: '0x0',
    }
  }
  const signed: SignedFields = parseTransaction(raw)
  return {
    type: TYPES[signed.type ?? 'legacy'],
    ...(signed.chainId !== undefined && { chainId: toQuantity(signed.chainId) }),
    gas: toQuantity(signed.gas ?? 0n),
    value: toQuantity(signed.value ?? 0n),
    input: signed.data ?? '0x',
    ...(signed.maxFeePerGas !== undefined && {
      maxFeePerGas: toQuantity(signed.maxFeePerGas),
      maxPriorityFeePerGas: toQuantity(signed.maxPriorityFeePerGas ?? 0n),
    }),
    ...(signed.type !== 'legacy' && { accessList: signed.accessList ?? [] }),
    ...(signed.blobVersionedHashes && {
      blobVersionedHashes: signed.blobVersionedHashes,
      maxFeePerBlobGas: toQuantity(signed.maxFeePerBlobGas ?? 0n),
    }),
    ...(signed.authorizationList && {
      authorizationList: signed.authorizationList.map((each) => ({
        chainId: toQuantity(each.chainId),
        address: each.address,
        nonce: toQuantity(each.nonce),
        yParity: toQuantity(each.yParity ?? 0),
        r: each.r,
        s: each.s,
      })),
    }),
    v: toQuantity(signed.type === 'legacy' ? (signed.v ?? 0n) : (signed.yParity ?? 0)),
    ...(signed.type !== 'legacy' && { yParity: toQuantity(signed.yParity ?? 0) }),
    r: toQuantity(BigInt(signed.r ?? '0x0')),
    s: toQuantity(BigInt(signed.s ?? '0x0')),
  }
}

/** `eth_getLogs` on pre-confirmed blocks: the logs that match the filter's addresses and topics. */
export function presentPendingLogs(blocks: readonly PendingBlock[], filter: LogFilter): PendingLog[] {
  return blocks.flatMap((block) => pendingLogs(block).filter((log) => logMatches(log, filter)))
}
