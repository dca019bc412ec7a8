import { toHex } from 'viem'
import { type CallDraft, EMPTY_CALL, textOf } from '../request/draft.js'
import { pasteError } from './pasted.js'

/** Names that wallets and nodes use for each input of the form. */
const INPUTS: Record<string, keyof CallDraft> = {
  ...{ from: 'from', to: 'to', value: 'value', data: 'data', input: 'data', calldata: 'data' },
  ...{ gas: 'gas', gasLimit: 'gas', nonce: 'nonce', gasPrice: 'gasPrice' },
  ...{ maxFeePerGas: 'maxFeePerGas', maxPriorityFeePerGas: 'maxPriorityFeePerGas' },
}
/** Also simulated; kept as JSON in the form. */
const MORE = ['accessList', 'authorizationList', 'blobVersionedHashes', 'maxFeePerBlobGas']
/** Shown elsewhere, or only about the signature and the block. */
const SILENT = [
  ...['type', 'chainId', 'r', 's', 'v', 'yParity', 'hash', 'blockHash', 'blockNumber', 'blockTimestamp'],
  ...['transactionIndex', 'accessListType', 'signature'],
]

/**
 * Decodes a call as wallets and nodes write it.
 * @param notes receives the names of fields that are not simulated
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
      // If `data` and `input` differ, `input` counts, as in geth.
      if (name === 'input' || draft[input] === '') draft[input] = inputText(name, input, value)
    } else if (MORE.includes(name)) more[name] = value
    else if (!SILENT.includes(name)) unknown.push(name)
  }
  // Nodes return the gas price paid next to EIP-1559 fees, but a request must not have both.
  if (draft.maxFeePerGas !== '') draft.gasPrice = ''
  if (unknown.length > 0) notes.push(`Not simulated: ${unknown.join(', ')}`)
  return { ...draft, more: Object.keys(more).length === 0 ? '' : JSON.stringify(more, hexOfBigint) }
}

function inputText(name: string, input: keyof CallDraft, value: unknown): string {
  if (typeof value === 'number' && !(Number.isSafeInteger(value) && value >= 0))
    throw pasteError(`${name}: not a whole number, or too large for JSON: write it in quotes`)
  if (typeof value === 'object') throw pasteError(`${name}: neither text nor a number`)
  // Wallets write wei in decimal, but the form takes ether.
  const isWei = input === 'value' && (typeof value !== 'string' || /^\d{1,78}$/.test(value))
  return isWei ? toHex(BigInt(value as string)) : textOf(value)
}

function hexOfBigint(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? toHex(value) : value
}
