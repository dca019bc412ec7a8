import type { Hex } from 'viem'
import { type CallDraft, draftWith, EMPTY_CALL, textOf } from '../request/draft.js'
import { isObject } from '../request/json.js'
import { callFromJson } from './call-json.js'
import { demandChain, hexOf, type PasteContext, type Pasted, pasteError } from './pasted.js'

/** Whether it is a Safe's transaction: as its service, its typed data or its transaction builder writes it. */
export function isSafeTransaction(given: Record<string, unknown>): boolean {
  const { primaryType, operation, safe, meta, transactions } = given
  if (primaryType === 'SafeTx') return true
  if (Array.isArray(transactions) && isObject(meta)) return true
  return operation !== undefined && ('safeTxGas' in given || safe !== undefined || 'baseGas' in given)
}

/** What the Safe does when its owners agree. @throws DraftError */
export async function safeTransaction(given: Record<string, unknown>, context: PasteContext): Promise<Pasted> {
  if (Array.isArray(given.transactions)) return builderBatch(given, context)
  const { domain, message } = given
  const { chainId, verifyingContract } = isObject(domain) ? domain : given
  demandChain(chainId, context)
  const fields = isObject(message) ? message : given
  const safe = hexOf(verifyingContract ?? given.safe ?? given.safeAddress)
  if (safe?.length !== 42)
    throw pasteError('a Safe transaction without the address of its Safe: add "safe": "0x…", or paste its typed data')
  const { to, value, data, operation } = fields
  const call = callFromJson({ from: safe, to, value, data: data ?? undefined }, [])
  const notes = [`Shown is what the Safe does when its owners agree; signatures are not checked`]
  if (Number(operation) !== 1) return { kind: 'Safe transaction', draft: draftWith([call]), notes }
  return delegateCall(safe, call, notes, context)
}

/** A delegate call: the target's code runs as the Safe. @throws DraftError */
async function delegateCall(safe: Hex, call: CallDraft, notes: string[], { ask }: PasteContext): Promise<Pasted> {
  const code = await ask<Hex>('eth_getCode', [call.to, 'latest'])
  if (code === '0x') throw pasteError(`${call.to} has no code to run as the Safe`)
  const draft = draftWith([{ ...call, to: safe, value: '' }])
  notes.unshift(`A delegate call: the code of ${call.to} runs as the Safe, and may do everything that the Safe may do`)
  return {
    kind: 'Safe transaction (delegate call)',
    draft: {
      ...draft,
      blocks: draft.blocks.map((block) => ({ ...block, overrides: JSON.stringify({ [safe]: { code } }, null, 2) })),
    },
    notes,
  }
}

/** A file of Safe's transaction builder. @throws DraftError */
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
      safe === '' ? ['The file names no Safe: fill in From'] : ['Shown is what the Safe does when its owners agree'],
  }
}
