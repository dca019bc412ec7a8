import type { Address, Hash, Hex, SimulatedLog } from '@upfront/protocol'
import { decodeAbiParameters } from 'viem'

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
/** Transfer(address,address,uint256): of ERC-20, and with an indexed id of ERC-721. */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** TransferSingle(address,address,address,uint256,uint256) of ERC-1155. */
const TRANSFER_SINGLE = '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62'
/** TransferBatch(address,address,address,uint256[],uint256[]) of ERC-1155. */
const TRANSFER_BATCH = '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb'
const ZERO = '0x0000000000000000000000000000000000000000'

interface Movement extends Omit<AssetChange, 'address' | 'amount'> {
  from: Address
  to: Address
  amount: bigint
}

/**
 * What changes hands, by address, as the logs say it: a token's false logs are not detected. Minting and burning have
 * one side only. In the order in which address and asset first appear; what comes to nothing is left out.
 */
export function assetChanges(logs: readonly SimulatedLog[]): AssetChange[] {
  const changes = new Map<string, Omit<AssetChange, 'amount'> & { amount: bigint }>()
  for (const { from, to, amount, ...asset } of logs.flatMap(movements)) {
    for (const [address, gain] of [[from, -amount] as const, [to, amount] as const]) {
      if (address === ZERO && asset.type !== 'native') continue
      const key = [address, asset.type, asset.token, asset.tokenId].join(' ')
      const change = changes.get(key) ?? { address, ...asset, amount: 0n }
      change.amount += gain
      changes.set(key, change)
    }
  }
  return [...changes.values()]
    .filter(({ amount }) => amount !== 0n)
    .map((change) => ({ ...change, amount: change.amount.toString() }))
}

function movements({ address: token, topics, data }: SimulatedLog): Movement[] {
  const [event, ...indexed] = topics
  if (event === TRANSFER && indexed.length === 2 && isWord(data)) {
    const asset = token === NATIVE ? { type: 'native' as const } : { type: 'erc20' as const, token }
    return [{ ...asset, from: toAddress(indexed[0]), to: toAddress(indexed[1]), amount: BigInt(data) }]
  }
  if (event === TRANSFER && indexed.length === 3) {
    const tokenId = BigInt(indexed[2] ?? 0).toString()
    return [{ type: 'erc721', token, tokenId, from: toAddress(indexed[0]), to: toAddress(indexed[1]), amount: 1n }]
  }
  if ((event !== TRANSFER_SINGLE && event !== TRANSFER_BATCH) || indexed.length !== 3) return []
  const parties = { from: toAddress(indexed[1]), to: toAddress(indexed[2]) }
  return idsAndAmounts(data, event === TRANSFER_BATCH).map(([id, amount]) => ({
    ...{ type: 'erc1155', token, tokenId: id.toString(), amount },
    ...parties,
  }))
}

/** Empty where the data is not what the event says it is. */
function idsAndAmounts(data: Hex, batch: boolean): [bigint, bigint][] {
  try {
    if (!batch) return [[...decodeAbiParameters([{ type: 'uint256' }, { type: 'uint256' }], data)]]
    const [ids, amounts] = decodeAbiParameters([{ type: 'uint256[]' }, { type: 'uint256[]' }], data)
    return ids.length === amounts.length ? ids.map((id, index) => [id, amounts[index] ?? 0n]) : []
  } catch {
    return []
  }
}

function isWord(data: Hex): boolean {
  return data.length === 66
}

function toAddress(topic: Hash | undefined): Address {
  return `0x${(topic ?? '').slice(-40)}`
}
