import { type Hex, hexToBigInt, toHex } from 'viem'
import { draftWith, EMPTY_BLOCK } from '../request/draft.js'
import { callFromJson } from './call-json.js'
import { type PasteContext, type Pasted, pasteError } from './pasted.js'

interface Transaction extends Record<string, unknown> {
  hash: Hex
  from: Hex
  blockHash: Hex | null
  transactionIndex: Hex
  gas: Hex
}

interface Block {
  number: Hex
  timestamp: Hex
  gasLimit: Hex
  miner: Hex
  mixHash: Hex
  baseFeePerGas?: Hex
  transactions: Transaction[]
}

/** With more transactions before it, they are omitted, because each is simulated again. */
const MAX_BEFORE = 60
/** An OP-stack deposit, which the chain itself mints and executes. */
const DEPOSIT = '0x7e'

/** A transaction by its hash: replayed at its position, after those before it in its block; on the newest state if not mined yet. */
export async function minedTransaction(hash: Hex, { ask }: PasteContext): Promise<Pasted> {
  const transaction = await ask<Transaction | null>('eth_getTransactionByHash', [hash])
  if (transaction === null) throw pasteError('32 bytes, but this chain has no transaction of this hash')
  const notes: string[] = []
  const call = callFromJson(transaction, notes)
  if (transaction.blockHash === null)
    return { kind: 'Transaction waiting to be mined', draft: draftWith([call], { validation: 'yes' }), notes }
  const [block, receipt] = await Promise.all([
    ask<Block | null>('eth_getBlockByHash', [transaction.blockHash, true]),
    ask<{ status: Hex; gasUsed: Hex } | null>('eth_getTransactionReceipt', [hash]),
  ])
  if (block === null || receipt === null) throw pasteError('its block is gone: the chain was reorganised')
  const number = hexToBigInt(block.number)
  const place = Number(transaction.transactionIndex)
  const earlier = block.transactions.slice(0, place).filter(({ type }) => type !== DEPOSIT)
  const before = earlier.length > MAX_BEFORE ? [] : earlier
  if (before.length < place)
    notes.push(`${place - before.length} transactions before it in its block are not replayed: the outcome may differ`)
  const { timestamp, gasLimit, miner, mixHash, baseFeePerGas } = block
  return {
    kind: `Transaction of block ${number}`,
    draft: {
      ...draftWith([call], { state: toHex(number - 1n) }),
      blocks: [
        {
          ...EMPTY_BLOCK,
          calls: [{ ...call, nonce: '' }],
          before: before.length === 0 ? '' : JSON.stringify(before.map(simulated)),
          number: number.toString(),
          time: String(Number(timestamp)),
          baseFee: baseFeePerGas === undefined ? '' : hexToBigInt(baseFeePerGas).toString(),
          more: JSON.stringify({ gasLimit, feeRecipient: miner, prevRandao: mixHash }),
        },
      ],
    },
    notes,
    happened: { succeeded: receipt.status === '0x1', gasUsed: hexToBigInt(receipt.gasUsed) },
  }
}

function simulated({ from, to, value, input, gas, accessList, authorizationList }: Transaction): object {
  const present = Object.entries({ from, to, value, input, gas, accessList, authorizationList })
  return Object.fromEntries(present.filter(([, field]) => field !== null && field !== undefined))
}
