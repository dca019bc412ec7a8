import type { AssetChanges, Confirmation } from '@upfront/simulation'
import type { AssetChange } from './asset-changes.js'

/** An asset change, and whether the token confirms it. */
export interface ConfirmedChange extends AssetChange {
  /** Whether the balances or the owner, queried before and after the call, agree with its logs. */
  confirmation: Confirmation
  /** Symbol reported by the token; absent if it has none. */
  symbol?: string
  decimals?: number
}

type Answered = Pick<ConfirmedChange, 'confirmation' | 'symbol' | 'decimals'>

const UNASKED: Answered = { confirmation: 'unknown' }

/** Adds the contracts' confirmations to the changes. @param asked `assetChanges` of the same call */
export function confirmedChanges(changes: readonly AssetChange[], asked: AssetChanges): ConfirmedChange[] {
  const key = (type: string, token?: string, tokenId?: string) => [type, token, tokenId].join(' ')
  const told = new Map<string, Answered>()
  for (const { type, address, tokenId, account, ...answered } of asked.balances)
    told.set(account + key(type, address, tokenId && BigInt(tokenId).toString()), answered)
  for (const { type, address, tokenId, ...answered } of asked.owners)
    told.set(key(type, address, tokenId && BigInt(tokenId).toString()), answered)
  return changes.map((change) => {
    const { address, type, token, tokenId } = change
    const of = key(type, token, tokenId)
    const { confirmation, symbol, decimals }: Answered = told.get(type === 'erc721' ? of : address + of) ?? UNASKED
    return {
      ...change,
      confirmation,
      ...(symbol !== undefined && { symbol }),
      ...(decimals !== undefined && { decimals }),
    }
  })
}
