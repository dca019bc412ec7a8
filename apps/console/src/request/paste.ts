import { type Hex, isHex, parseTransaction, recoverTransactionAddress, type TransactionSerialized, toHex } from 'viem'
import { type BlockDraft, type CallDraft, type Draft, EMPTY_BLOCK, EMPTY_CALL, textOf } from './draft.js'
import { DraftError } from './draft-error.js'
import { jsonObject } from './json.js'

/**
 * The draft of a pasted text: a signed transaction, a wallet's JSON of one, an `eth_simulateV1` or `eth_sendTransaction` request.
 * @throws DraftError
 */
export async function draftFrom(pasted: string): Promise<Draft> {
  const text = pasted.trim()
  if (isHex(text)) return draftWith([await signedCall(text)])
  const given = jsonObject(text, 'Pasted text') as { params?: unknown[]; blockStateCalls?: unknown }
  const meant = Array.isArray(given.params) ? given.params[0] : given
  if (typeof meant !== 'object' || meant === null) throw new DraftError('Pasted text: the request has no parameters')
  const { blockStateCalls } = meant as { blockStateCalls?: unknown }
  if (blockStateCalls === undefined) return draftWith([draftOf(meant)])
  if (!Array.isArray(blockStateCalls) || blockStateCalls.length === 0)
    throw new DraftError('Pasted text: the request has no blocks')
  return { blocks: blockStateCalls.map(pastedBlock), abi: '' }
}

function draftWith(calls: CallDraft[]): Draft {
  return { blocks: [{ ...EMPTY_BLOCK, calls }], abi: '' }
}

function pastedBlock(block: {
  calls?: object[]
  stateOverrides?: object
  blockOverrides?: Record<string, unknown>
}): BlockDraft {
  const { calls = [], stateOverrides, blockOverrides: { number, time, baseFeePerGas, ...other } = {} } = block ?? {}
  const [unknown] = Object.keys(other)
  if (unknown !== undefined) throw new DraftError(`Pasted text: the form has no field for ${unknown} of a block`)
  return {
    ...EMPTY_BLOCK,
    calls: calls.length === 0 ? [EMPTY_CALL] : calls.map(draftOf),
    overrides: stateOverrides === undefined ? '' : JSON.stringify(stateOverrides, null, 2),
    ...{ number: textOf(number), time: textOf(time), baseFee: textOf(baseFeePerGas) },
  }
}

async function signedCall(text: Hex): Promise<CallDraft> {
  try {
    const { to, value, data } = parseTransaction(text)
    const from = await recoverTransactionAddress({ serializedTransaction: text as TransactionSerialized })
    return { from, to: to ?? '', value: value ? toHex(value) : '', data: data ?? '' }
  } catch {
    throw new DraftError('Pasted text: not a signed transaction')
  }
}

function draftOf(call: object): CallDraft {
  const { from, to, value, input, data } = call as Record<string, unknown>
  if (typeof value === 'number' && !(Number.isSafeInteger(value) && value >= 0))
    throw new DraftError('Pasted text, value: not a whole number of wei, or too large for JSON: write it in quotes')
  const isWei = typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value))
  const wei = isWei ? toHex(BigInt(value)) : value
  return { from: textOf(from), to: textOf(to), value: textOf(wei), data: textOf(input ?? data) }
}
