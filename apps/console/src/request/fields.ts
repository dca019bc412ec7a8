import {
  type Abi,
  type AbiFunction,
  type Address,
  checksumAddress,
  encodeFunctionData,
  type Hex,
  isAddress,
  isHex,
  pad,
  parseAbiItem,
  parseEther,
  toHex,
} from 'viem'
import { callTextOf } from './abi.js'
import type { FieldLabel } from './draft-error.js'
import { wholeNumbers } from './json.js'

/** An address; undefined if empty. Mixed case must be a valid checksum (EIP-55). @throws DraftError */
export function address(text: string, place: FieldLabel): Address | undefined {
  const typed = text.trim()
  if (typed === '') return undefined
  if (!isAddress(typed, { strict: false })) throw place.error('not an address of 20 bytes')
  const digits = typed.slice(2)
  const isMixed = /[a-f]/.test(digits) && /[A-F]/.test(digits)
  if (isMixed && checksumAddress(typed.toLowerCase() as Address) !== typed)
    throw place.error('its checksum is wrong: compare each character')
  return typed
}

/** An amount in wei, from ether in decimal or wei in hex. @throws DraftError */
export function amount(text: string, place: FieldLabel): Hex | undefined {
  const typed = text.trim()
  if (typed === '') return undefined
  if (/^0x[0-9a-f]{1,64}$/i.test(typed)) return toHex(BigInt(typed))
  if (!/^\d{1,60}(\.\d{1,18})?$/.test(typed)) throw place.error('expected ether, such as 0.01, or wei, such as 0x1')
  return toHex(parseEther(typed))
}

/** @throws DraftError */
export function whole(text: string, place: FieldLabel): Hex | undefined {
  const typed = text.trim()
  if (typed === '') return undefined
  if (!/^(\d{1,78}|0x[0-9a-f]{1,64})$/i.test(typed)) throw place.error('not a whole number')
  return toHex(BigInt(typed))
}

/** 32 bytes, from a number or hex; padded with zeros. @throws DraftError */
export function word(text: string, place: FieldLabel): Hex | undefined {
  const number = whole(text, place)
  return number === undefined ? undefined : pad(number.length % 2 === 0 ? number : `0x0${number.slice(2)}`)
}

/** Calldata, from 0x-hex or a function with arguments. @throws DraftError */
export function calldata(text: string, place: FieldLabel): Hex | undefined {
  const typed = text.trim()
  if (typed === '') return undefined
  if (isHex(typed) && typed.length % 2 === 0) return typed
  const call = callTextOf(typed)
  if (call === undefined) {
    throw place.error(
      'expected 0x-hex, or a function with its arguments, such as transfer(address,uint256) ["0x…", "1"]',
    )
  }
  try {
    const item = parseAbiItem(`function ${call.signature}`) as AbiFunction
    return encodeFunctionData({
      abi: [item] as Abi,
      functionName: item.name,
      args: JSON.parse(call.args, wholeNumbers),
    })
  } catch (error) {
    throw place.error(String((error as Error).message.split('\n')[0]))
  }
}
