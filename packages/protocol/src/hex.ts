/** Lower-case `0x` hex. Byte strings stay hex inside the services, because requests, answers and map keys use it. */
export type Hex = `0x${string}`
/** 20 bytes, lower case. */
export type Address = Hex
/** 32 bytes, lower case. */
export type Hash = Hex

export const ZERO_ADDRESS: Address = '0x0000000000000000000000000000000000000000'
export const ZERO_HASH: Hash = '0x0000000000000000000000000000000000000000000000000000000000000000'

/** A JSON-RPC quantity: no leading zeros, `0x0` for zero. */
export function toQuantity(value: bigint | number): Hex {
  return `0x${value.toString(16)}`
}
