import { type Address, encodeAbiParameters, type Hex, hexToBigInt, keccak256 } from 'viem'
import type { AssetChanges } from './assets.js'
import { type Asset, amountText, ENDLESS } from './assets.js'

/** The meaning of a storage slot, and how to format its words. */
export interface SlotMeaning {
  name: string
  text(word: Hex): string
}

/** Slots where compilers put a token's mappings, counted from 0, and OpenZeppelin's (ERC-7201). */
const PLACES = [
  ...Array.from({ length: 12 }, (_, at) => BigInt(at)),
  0x52c63247e1f47db19d5ce0460030c497f067ca4cebf71ba98eeadabe20bace00n,
  0x52c63247e1f47db19d5ce0460030c497f067ca4cebf71ba98eeadabe20bace01n,
]
/** https://eips.ethereum.org/EIPS/eip-1967 */
const PROXY_SLOTS: Record<string, string> = {
  '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc': 'implementation of the proxy',
  '0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103': 'admin of the proxy',
}

/**
 * Meanings of token slots: balances and allowances of the accounts in the changes.
 * @returns by `token slot`, both in lower case
 */
export function slotMeanings(
  { transfers, approvals }: AssetChanges,
  signer: Address,
): ReadonlyMap<string, SlotMeaning> {
  const meanings = new Map<string, SlotMeaning>()
  const tokens = new Map<Address, { asset: Asset; holders: Set<Address>; pairs: Set<string> }>()
  const of = (asset: Asset) => {
    const known = tokens.get(asset.address!) ?? { asset, holders: new Set([signer]), pairs: new Set<string>() }
    tokens.set(asset.address!, known)
    return known
  }
  for (const { from, to, amount: _, ...asset } of transfers) {
    if (asset.type === 'erc20') of(asset).holders.add(from).add(to)
  }
  const others = new Set(transfers.flatMap(({ from, to }) => [from, to]))
  for (const { token, owner, spender } of approvals)
    if (token.type === 'erc20') of(token).pairs.add(`${owner} ${spender}`)
  for (const { pairs, holders } of tokens.values())
    for (const spender of [...others].slice(0, 8))
      for (const owner of [...holders].slice(0, 4)) pairs.add(`${owner} ${spender}`)
  for (const [token, { asset, holders, pairs }] of tokens) {
    const text = (word: Hex) => amountText(asset, word)
    const allowance = (word: Hex) => (hexToBigInt(word) >= ENDLESS ? `all ${asset.symbol ?? ''}` : text(word))
    for (const place of PLACES) {
      for (const holder of [...holders].slice(0, 24))
        meanings.set(`${token} ${mapped(holder, place)}`, { name: `balance of ${holder}`, text })
      for (const pair of [...pairs].slice(0, 32)) {
        const [owner, spender] = pair.split(' ') as [Address, Address]
        const slot = mapped(spender, hexToBigInt(mapped(owner, place)))
        meanings.set(`${token} ${slot}`, { name: `allowance of ${owner} to ${spender}`, text: allowance })
      }
    }
  }
  return meanings
}

/** The meaning of one slot; undefined if unknown. */
export function meaningOf(
  contract: string,
  slot: string,
  known: ReadonlyMap<string, SlotMeaning>,
): SlotMeaning | undefined {
  const proxy = PROXY_SLOTS[slot]
  return proxy === undefined
    ? known.get(`${contract} ${slot}`)
    : { name: proxy, text: (word) => `0x${word.slice(-40)}` }
}

/** Solidity's slot for a key of a mapping. */
function mapped(key: Address, place: bigint): Hex {
  return keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [key, place]))
}
