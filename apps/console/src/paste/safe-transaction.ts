import { draftWith, EMPTY_CALL, textOf } from '../request/draft.js'
import { isObject } from '../request/json.js'
import { callFromJson } from './call-json.js'
import { demandChain, hexOf, type PasteContext, type Pasted, pasteError } from './pasted.js'

/** The fields that owners sign. */
const SIGNED = [
  ...['to', 'value', 'data', 'operation', 'safeTxGas', 'baseGas', 'gasPrice', 'gasToken', 'refundReceiver', 'nonce'],
]

/** Whether it is a Safe transaction, as from its service, typed data or transaction builder. */
export function isSafeTransaction(given: Record<string, unknown>): boolean {
  const { primaryType, operation, safe, meta, transactions } = given
  if (primaryType === 'SafeTx') return true
  if (Array.isArray(transactions) && isObject(meta)) return true
  return operation !== undefined && ('safeTxGas' in given || safe !== undefined || 'baseGas' in given)
}

/** What the Safe executes once its owners agree. @throws DraftError */
export function safeTransaction(given: Record<string, unknown>, context: PasteContext): Pasted {
  if (Array.isArray(given.transactions)) return builderBatch(given, context)
  const { domain, message } = given
  const { chainId, verifyingContract } = isObject(domain) ? domain : given
  demandChain(chainId, context)
  const fields = isObject(message) ? message : given
  const safe = hexOf(verifyingContract ?? given.safe ?? given.safeAddress)
  if (safe?.length !== 42)
    throw pasteError('a Safe transaction without the address of its Safe: add "safe": "0x…", or paste its typed data')
  const present = SIGNED.flatMap((name) => (fields[name] == null ? [] : [[name, fields[name]]]))
  const transaction = { safe, ...Object.fromEntries(present) }
  const isDelegated = Number(fields.operation) === 1
  return {
    kind: isDelegated ? 'Safe transaction (delegate call)' : 'Safe transaction',
    draft: draftWith([{ ...EMPTY_CALL, more: JSON.stringify({ safeTransaction: transaction }, null, 2) }]),
    notes: isDelegated
      ? [`A delegate call: the code of ${fields.to} runs as the Safe, and may do everything that the Safe may do`]
      : [],
  }
}

/** Decodes a file of Safe's transaction builder. @throws DraftError */
function builderBatch({ chainId, meta, transactions }: Record<string, unknown>, context: PasteContext): Pasted {
  demandChain(chainId, context)
  const safe = textOf((meta as { createdFromSafeAddress?: unknown }).createdFromSafeAddress)
  const calls = (transactions as unknown[]).map((entry) => {
    if (!isObject(entry)) throw pasteError('transactions: not a list of transactions')
    const { to, value, data } = entry
    if (data === null || data === undefined) throw pasteError('transactions: one has no data yet: build it first')
    return { ...EMPTY_CALL, ...callFromJson({ to, value, data }, []), from: safe }
  })
  if (calls.length === 0) throw pasteError('transactions: an empty list')
  return {
    kind: `Safe batch of ${calls.length} transactions`,
    draft: draftWith(calls),
    notes:
      safe === '' ? ['The file names no Safe: fill in From'] : ['This is what the Safe does once its owners agree'],
  }
}
