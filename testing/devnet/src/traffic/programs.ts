import { concatHex, getContractAddress, getCreate2Address, type Hex, numberToHex, pad, size } from 'viem'

const word = (value: bigint | number): Hex => pad(numberToHex(value), { size: 32 })

/** Init code that deploys `runtime` (at most 255 bytes). */
export const deploying = (runtime: Hex): Hex =>
  concatHex([`0x60${size(runtime).toString(16).padStart(2, '0')}8060095f395ff3`, runtime])

/** Writes its input as pairs of slot and value; logs nothing. */
export const SCRIBBLER: Hex = '0x5f5b8036111560175780602001358135556040016001565b00'

const BEACON_ROOTS = '000f3df6d732807ef1319fb7b8bb8522d0beac02'
const HISTORY = '0000f90827f1c53a10cb7a02335b175320002935'
const ask = (contract: string) => `60205f60205f73${contract}5afa505f51`
const keep = (offset: number) => `5f3560${offset.toString(16).padStart(2, '0')}0155`

/**
 * Writes from the slot in its first word on: the hash of the block as many blocks before the parent as its second word says, the values of
 * the EIP-4788 and EIP-2935 contracts, and the fee recipient's balance.
 */
export const OBSERVER: Hex = `0x${[
  `602035600101430340${keep(0)}`,
  `425f52${ask(BEACON_ROOTS)}${keep(1)}`,
  `600143035f52${ask(HISTORY)}${keep(2)}`,
  `4131${keep(3)}`,
  '00',
].join('')}`

/** Stores the block number and its creation value; self-destructs when called. */
const CHILD: Hex = '0x436001556133ff5f526002601ef3'

/** Creates a child by CREATE2 with its first word as salt, and calls it if the second is not zero, which destroys it at once. */
export const FACTORY: Hex = concatHex(['0x6d', CHILD, '0x5f525f35600e601234f560203515602857', '0x5f5f5f5f5f855af15b00'])

export const WITHDRAWAL_REQUESTS: Hex = '0x00000961ef480eb55e80d19ad83579a64c007002'

export const scribble = (pairs: readonly (readonly [slot: bigint, value: bigint])[]): Hex =>
  concatHex(pairs.flatMap(([slot, value]) => [word(slot), word(value)]))

export const observe = (slot: bigint, back: number): Hex => concatHex([word(slot), word(back)])

export const create = (salt: number, destroyed: boolean): Hex => concatHex([word(salt), word(destroyed ? 1 : 0)])

export const childOf = (factory: Hex, salt: number) =>
  getCreate2Address({ from: factory, salt: word(salt), bytecode: CHILD })

export const deployedBy = (from: Hex, nonce: bigint) => getContractAddress({ from, nonce })
