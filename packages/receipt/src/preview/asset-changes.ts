import { type Address, type SimulatedLog, ZERO_ADDRESS } from '@upfront/protocol'
import { type Asset, transfersByLogs } from '@upfront/simulation'

/** What one address gains (positive) or loses (negative) of one asset. */
export interface AssetChange {
  address: Address
  type: 'native' | 'erc20' | 'erc721' | 'erc1155'
  /** The token; absent for the native currency. */
  token?: Address
  /** Of ERC-721 and ERC-1155, decimal. */
  tokenId?: string
  /** In the asset's smallest unit, decimal, signed. */
  amount: string
}

/** ERC-7528: who the transfer logs of the native currency come from. */
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'

/**
 * What changes hands, by address, as the logs say it: a token's false logs are not detected. Minting and burning have
 * one side only. In the order in which address and asset first appear; what comes to nothing is left out.
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
