import type { Address, Hash } from '@upfront/protocol'
import type {
  AccountChange,
  BlockStretch,
  ExecutedReceipt,
  ExecutedStretch,
  PreconfirmedTransaction,
  StateLayer,
} from '@upfront/simulation'
import { readLogs } from './outcome-text.js'
import { chainText, flag, list, optionalText, quantity, rulesText } from './plan-text.js'
import { TextReader } from './text-reader.js'

export function stretchText(stretch: BlockStretch): string {
  const { block, earlierReceipts } = stretch
  return (
    chainText(stretch.rules) +
    quantity(block.number) +
    quantity(block.timestamp) +
    `${block.parentHash}\n` +
    quantity(block.gasLimit) +
    `${block.feeRecipient}\n${block.prevRandao}\n` +
    quantity(block.baseFeePerGas) +
    optionalText(block.parentBeaconBlockRoot) +
    quantity(block.excessBlobGas ?? 0n) +
    rulesText(block.rules) +
    flag(stretch.opening) +
    list(stretch.transactions, (raw) => `${raw}\n`) +
    list(earlierReceipts, (receipt) => `${receipt.encoded}\n`) +
    quantity(earlierReceipts.at(-1)?.cumulativeGasUsed ?? 0n) +
    quantity(earlierReceipts.reduce((sum, receipt) => sum + (receipt.blobGasUsed ?? 0n), 0n))
  )
}

let layers = 0

/** What crates/bindings/src/encode.rs wrote of an executed stretch. */
export function readExecutedStretch(text: string, stretch: BlockStretch): ExecutedStretch {
  const reader = new TextReader(text)
  const layer: StateLayer = { id: `revm-${++layers}`, accounts: readAccounts(reader) }
  const transactions: PreconfirmedTransaction[] = []
  const receipts: ExecutedReceipt[] = []
  const count = reader.number()
  for (let index = 0; index < count; index++) {
    transactions.push({
      hash: reader.hex(),
      from: reader.hex(),
      to: reader.optionalHex() ?? null,
      nonce: reader.bigint(),
      raw: stretch.transactions[index] ?? '0x',
    })
    receipts.push(readReceipt(reader))
  }
  return {
    layer,
    transactions,
    receipts,
    gasUsed: reader.bigint(),
    blobGasUsed: reader.bigint(),
    receiptsRoot: reader.hex(),
    logsBloom: reader.hex(),
  }
}

function readAccounts(reader: TextReader): Map<Address, AccountChange> {
  const accounts = new Map<Address, AccountChange>()
  for (let left = reader.number(); left > 0; left--) {
    const address = reader.hex()
    const balance = reader.optionalBigint()
    const nonce = reader.optionalBigint()
    const code = reader.optionalHex()
    const storageCleared = reader.word() === '1'
    const storage = new Map<Hash, Hash>()
    for (let slots = reader.number(); slots > 0; slots--) storage.set(reader.hex(), reader.hex())
    accounts.set(address, {
      ...(balance !== undefined && { balance }),
      ...(nonce !== undefined && { nonce }),
      ...(code !== undefined && { code }),
      storageCleared,
      storage,
    })
  }
  return accounts
}

function readReceipt(reader: TextReader): ExecutedReceipt {
  const receipt = {
    type: reader.number(),
    succeeded: reader.word() === '1',
    cumulativeGasUsed: reader.bigint(),
    gasUsed: reader.bigint(),
    effectiveGasPrice: reader.bigint(),
    logs: readLogs(reader).map(({ address, topics, data }) => ({ address, topics, data })),
    contractAddress: reader.optionalHex() ?? null,
  }
  const blobGasUsed = reader.optionalBigint()
  return { ...receipt, ...(blobGasUsed !== undefined && { blobGasUsed }), encoded: reader.hex() }
}
