import { type Address, type SimulatedLog, ZERO_ADDRESS } from '@upfront/protocol'
import { type Asset, transfersByLogs } from '@upfront/simulation'

/** What an address gains (positive) or loses (negative) of one asset. */
export interface AssetChange {
  address: Address
  type: 'native' | 'erc20' | 'erc721' | 'erc1155'
  /** Token address; absent for the native currency. */
  token?: Address
  /** For ERC-721 and ERC-1155, decimal. */
  tokenId?: string
  /** In the asset's smallest unit, signed decimal. */
  amount: string
}

/** ERC-7528: emitter of transfer logs of the native currency. */
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'

/**
 * Net asset changes by address, according to the logs; false logs of a token are not detected. Minting and burning have one side only.
 * Ordered by first appearance of address and asset; changes of zero are left out.
 */
export function assetChanges(logs: readonly SimulatedLog[]): AssetChange[] {
  const changes = new Map<string, Omit<AssetChange, 'amount'> & { amount: bigint }>()
  for (const { asset, from, to, amount } of transfersByLogs(logs)) {
    const shown = shownAsset(asset)
    for (const [address, gain] of [[from, -amount] as const, [to, amount] as const]) {
      if (address === ZERO_ADDRESS && shown.type !== 'native') continue
      const key = [address, shown.type, shown.token, shown.tokenId].join(' ')
      const change = changes.get(key) ?? { address, ...shown, amount: 0n }
      change.amount += gain
      changes.set(key, change)
    }
  }
  return [...changes.values()]
    .filter(({ amount }) => amount !== 0n)
    .map((change) => ({ ...change, amount: change.amount.toString() }))
}

function shownAsset(asset: Asset): Omit<AssetChange, 'address' | 'amount'> {
  if (asset.type === 'native' || asset.address === NATIVE) return { type: 'native' }
  const { type, address: token } = asset
  return asset.type === 'erc20' ? { type, token } : { type, token, tokenId: asset.tokenId.toString() }
}
