import type { StateRead } from '@upfront/simulation'
import { fromRlp, type Hex, pad } from 'viem'

type Change = [index: Hex, value: Hex]
type Account = [
  address: Hex,
  storageChanges: [slot: Hex, changes: Change[]][],
  storageReads: Hex[],
  balances: Change[],
  nonces: Change[],
  codes: Change[],
]

/** The answer of `eth_getBlockAccessList` (execution-apis), from the Engine API's list. */
export function accessListJson(rlp: Hex) {
  return accountsOf(rlp).map(([address, slots, storageReads, balances, nonces, codes]) => ({
    address,
    storageChanges: slots.map(([slot, changes]) => ({
      key: word(slot),
      changes: changes.map(([index, value]) => ({ index: quantity(index), value: word(value) })),
    })),
    storageReads: storageReads.map(word),
    balanceChanges: balances.map(([index, value]) => ({ index: quantity(index), value: quantity(value) })),
    nonceChanges: nonces.map(([index, value]) => ({ index: quantity(index), value: quantity(value) })),
    codeChanges: codes.map(([index, code]) => ({ index: quantity(index), code })),
  }))
}

/** Reads of every value that the block wrote, by its list. */
export function writtenIn(rlp: Hex): StateRead[] {
  return accountsOf(rlp).flatMap(([address, slots, , balances, nonces, codes]) => [
    ...slots.map(([slot]): StateRead => ({ kind: 'storage', address, slot: word(slot) })),
    ...(balances.length > 0 ? [{ kind: 'balance', address } as const] : []),
    ...(nonces.length > 0 ? [{ kind: 'nonce', address } as const] : []),
    ...(codes.length > 0 ? [{ kind: 'code', address } as const] : []),
  ])
}

function accountsOf(rlp: Hex): Account[] {
  return fromRlp(rlp) as unknown as Account[]
}

const quantity = (bytes: Hex): Hex => (bytes === '0x' ? '0x0' : `0x${BigInt(bytes).toString(16)}`)
const word = (bytes: Hex): Hex => pad(bytes, { size: 32 })
