import { toHex } from 'viem'
import { type CallDraft, EMPTY_CALL, textOf } from '../request/draft.js'
import { pasteError } from './pasted.js'

/** Each input of the form, and how wallets and nodes call it. */
const INPUTS: Record<string, keyof CallDraft> = {
  ...{ from: 'from', to: 'to', value: 'value', data: 'data', input: 'data', calldata: 'data' },
  ...{ gas: 'gas', gasLimit: 'gas', nonce: 'nonce', gasPrice: 'gasPrice' },
  ...{ maxFeePerGas: 'maxFeePerGas', maxPriorityFeePerGas: 'maxPriorityFeePerGas' },
}
/** Simulated too; the form holds them as JSON. */
const MORE = ['accessList', 'authorizationList', 'blobVersionedHashes', 'maxFeePerBlobGas']
/** Said elsewhere, or of the signature and the block alone. */
const SILENT = [
  ...['type', 'chainId', 'r', 's', 'v', 'yParity', 'hash', 'blockHash', 'blockNumber', 'blockTimestamp'],
  ...['transactionIndex', 'accessListType', 'signature'],
]

/**
 * A call as wallets and nodes write it.
 * @param notes takes the names of fields that are not simulated
 * @throws DraftError
 */
export function callFromJson(given: Record<string, unknown>, notes: string[]): CallDraft {
  const draft = { ...EMPTY_CALL }
  const more: Record<string, unknown> = {}
  const unknown: string[] = []
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined) continue
    const input = INPUTS[name]
    if (input !== undefined) {
      // `input` counts where `data` says something else, as in geth.
      if (name === 'input' || draft[input] === '') draft[input] = inputText(name, input, value)
    } else if (MORE.includes(name)) more[name] = value
    else if (!SILENT.includes(name)) unknown.push(name)
  }
  // Nodes give the gas price paid beside the fees of EIP-1559; both together are refused.
  if (draft.maxFeePerGas !== '') draft.gasPrice = ''
  if (unknown.length > 0) notes.push(`Not simulated: ${unknown.join(', ')}`)
  return { ...draft, more: Object.keys(more).length === 0 ? '' : JSON.stringify(more, hexOfBigint) }
}

function inputText(name: string, input: keyof CallDraft, value: unknown): string {
  if (typeof value === 'number' && !(Number.isSafeInteger(value) && value >= 0))
    throw pasteError(`${name}: not a whole number, or too large for JSON: write it in quotes`)
  if (typeof value === 'object') throw pasteError(`${name}: neither text nor a number`)
  // Wallets write wei as a decimal, where the form takes ether.
  const isWei = input === 'value' && (typeof value !== 'string' || /^\d{1,78}$/.test(value))
  return isWei ? toHex(BigInt(value as string)) : textOf(value)
}

export function hexOfBigint(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? toHex(value) : value
}
