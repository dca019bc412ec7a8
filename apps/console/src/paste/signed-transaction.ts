import { type Hex, parseTransaction, recoverTransactionAddress, type TransactionSerialized, toHex } from 'viem'
import { draftWith } from '../request/draft.js'
import { callFromJson } from './call-json.js'
import { demandChain, type PasteContext, type Pasted } from './pasted.js'

/** Decodes a signed transaction with all its fields. Undefined for other bytes. @throws DraftError if it is for another chain */
export async function signedTransaction(bytes: Hex, context: PasteContext): Promise<Pasted | undefined> {
  let transaction: ReturnType<typeof parseTransaction>
  let from: Hex
  try {
    transaction = parseTransaction(bytes)
    from = await recoverTransactionAddress({ serializedTransaction: bytes as TransactionSerialized })
  } catch {
    return undefined
  }
  const { type, chainId, authorizationList, sidecars, ...fields } = transaction as typeof transaction & {
    authorizationList?: object[]
    sidecars?: unknown
  }
  demandChain(chainId, context)
  const quantities = (value: object) =>
    Object.fromEntries(
      Object.entries(value).map(([name, field]) => [
        name,
        typeof field === 'number' || typeof field === 'bigint' ? toHex(field) : field,
      ]),
    )
  const notes = chainId === undefined ? ['Signed for no chain (before EIP-155): it can be sent on every chain'] : []
  const call = callFromJson(
    {
      ...quantities({ nonce: 0, ...fields }),
      from,
      ...(authorizationList && { authorizationList: authorizationList.map(quantities) }),
      ...(fields.accessList?.length === 0 && { accessList: undefined }),
    },
    notes,
  )
  // Simulated as if sent: nonce, fees and balance count.
  return { kind: `Signed transaction (${type})`, draft: draftWith([call], { validation: 'yes' }), notes }
}
