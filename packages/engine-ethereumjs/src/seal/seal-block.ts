import type { BlockHeader, Hash, Withdrawal } from '@upfront/protocol'
import { ZERO_HASH } from '@upfront/protocol'
import { orderedTrieRoot } from '@upfront/simulation'
import { hexOf } from '../state/bytes.js'
import { mergeBlooms } from './bloom.js'
import type { Receipt } from './receipt.js'
import { encodeRlp, keccak, type RlpItem } from './rlp.js'
import { bodyItem, encodeTransaction, type FilledCall } from './transaction.js'

/** keccak256(rlp([])) */
const NO_UNCLES: Hash = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'

/** A header without the fields that sealing adds. */
export type OpenHeader = Omit<
  BlockHeader,
  | 'hash'
  | 'sha3Uncles'
  | 'stateRoot'
  | 'transactionsRoot'
  | 'receiptsRoot'
  | 'logsBloom'
  | 'withdrawalsRoot'
  | 'nonce'
  | 'difficulty'
>

interface BlockBody {
  chainId: bigint
  transactions: FilledCall[]
  receipts: Receipt[]
  /** Absent before Shanghai. */
  withdrawals?: Withdrawal[]
}

interface SealedBlock {
  header: BlockHeader
  /** Of the RLP-encoded block, bytes. */
  size: bigint
}

/** Commits to the body and hashes the header. The state root is zero: a simulation has no trie of the state. */
export function sealBlock(open: OpenHeader, { chainId, transactions, receipts, withdrawals }: BlockBody): SealedBlock {
  const encoded = transactions.map((transaction) => encodeTransaction(transaction, chainId))
  const withdrawalItems = withdrawals?.map(
    ({ index, validatorIndex, address, amount }): RlpItem => [index, validatorIndex, address, amount],
  )
  const unhashed: Omit<BlockHeader, 'hash'> = {
    ...open,
    sha3Uncles: NO_UNCLES,
    stateRoot: ZERO_HASH,
    transactionsRoot: orderedTrieRoot(encoded),
    receiptsRoot: orderedTrieRoot(receipts.map((receipt) => receipt.encoded)),
    logsBloom: hexOf(mergeBlooms(receipts.map((receipt) => receipt.bloom))),
    difficulty: 0n,
    nonce: '0x0000000000000000',
    ...(withdrawalItems && { withdrawalsRoot: orderedTrieRoot(withdrawalItems.map(encodeRlp)) }),
  }
  const headerItem = headerFields(unhashed)
  const bodyItems = transactions.map((transaction, index) => bodyItem(transaction, chainId, encoded[index]!))
  const block: RlpItem[] = [headerItem, bodyItems, [], ...(withdrawalItems ? [withdrawalItems] : [])]
  return {
    header: { hash: keccak(encodeRlp(headerItem)), ...unhashed },
    size: BigInt(encodeRlp(block).length),
  }
}

/** The block's hash, from all fields of its header but `hash`. */
export function headerHash(header: Omit<BlockHeader, 'hash'>): Hash {
  return keccak(encodeRlp(headerFields(header)))
}

/** In the order of the forks that added them. */
function headerFields(header: Omit<BlockHeader, 'hash'>): RlpItem[] {
  const fields = [
    header.parentHash,
    header.sha3Uncles,
    header.miner,
    header.stateRoot,
    header.transactionsRoot,
    header.receiptsRoot,
    header.logsBloom,
    header.difficulty,
    header.number,
    header.gasLimit,
    header.gasUsed,
    header.timestamp,
    header.extraData,
    header.mixHash,
    header.nonce,
    header.baseFeePerGas,
    header.withdrawalsRoot,
    header.blobGasUsed,
    header.excessBlobGas,
    header.parentBeaconBlockRoot,
    header.requestsHash,
  ]
  return fields.filter((field) => field !== undefined)
}
