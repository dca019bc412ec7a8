import { type Address, encodeAbiParameters, type Hex, keccak256, parseEther, stringToHex, toHex } from 'viem'
import { type CallDraft, type Draft, EMPTY_BLOCK, EMPTY_CALL, EMPTY_DRAFT } from '../request/draft.js'
import { DESK, LIAR, TOKEN } from './contracts.js'

/** An example request. */
export interface Example {
  name: string
  draft: Draft
}

const SIGNER = '0xa11ce00000000000000000000000000000000001'
const WETH = '0x7e70000000000000000000000000000000000001'
const TUSD = '0x7e70000000000000000000000000000000000002'
const DESK_AT = '0xde5c000000000000000000000000000000000001'
const LIAR_AT = '0x11a5000000000000000000000000000000000001'
const SOMEBODY = '0xb0b0000000000000000000000000000000000001'

const SWAP = 'swap(address tokenIn, uint256 amountIn, address tokenOut, uint256 amountOut)'
const ABI = `function ${SWAP}
error InsufficientAllowance(address spender, uint256 allowance, uint256 needed)
error InsufficientBalance(address account, uint256 balance, uint256 needed)`
const swap = `swap(address,uint256,address,uint256) ${JSON.stringify([WETH, parseEther('1.5').toString(), TUSD, parseEther('4485.6').toString()])}`
/** Signed by the key that repeats 0x7702 sixteen times, for any chain; its contract does not exist. */
const DELEGATION = {
  ...{ chainId: '0x0', address: '0x00000000000000000000000000000000c0de7702', nonce: '0x0', yParity: '0x1' },
  r: '0x4ac254f87ff88108e6462076374ffa269acab739f5397e17ff6dd69bf1926e84',
  s: '0x65f6c14bc8ce1696f02d25137e41fad2c5f3d364b3c4f6fdc977122a033544b3',
}

function place(key: Address, at: bigint): Hex {
  return keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [key, at]))
}

function allowancePlace(owner: Address, spender: Address): Hex {
  return place(spender, BigInt(place(owner, 4n)))
}

/** A storage word with a string of up to 31 bytes, in Solidity's layout. */
function shortString(text: string): Hex {
  return `0x${stringToHex(text).slice(2).padEnd(62, '0')}${(text.length * 2).toString(16).padStart(2, '0')}`
}

function token(symbol: string, words: Record<Hex, Hex>): object {
  return { code: TOKEN, state: { [toHex(1n, { size: 32 })]: shortString(symbol), ...words } }
}

/** State overrides: a signer with WETH, and a desk with TUSD that may take `allowed` WETH. */
function market(allowed: bigint, held = parseEther('3')): object {
  const word = (amount: bigint) => toHex(amount, { size: 32 })
  return {
    [SIGNER]: { balance: toHex(parseEther('2')) },
    [WETH]: token('WETH', {
      [place(SIGNER, 3n)]: word(held),
      [allowancePlace(SIGNER, DESK_AT)]: word(allowed),
    }),
    [TUSD]: token('TUSD', { [place(DESK_AT, 3n)]: word(parseEther('100000')) }),
    [DESK_AT]: { code: DESK },
  }
}

function example(name: string, overrides: object, ...calls: Partial<CallDraft>[]): Example {
  const block = {
    ...EMPTY_BLOCK,
    calls: calls.map((call) => ({ ...EMPTY_CALL, from: SIGNER, ...call })),
    overrides: JSON.stringify(overrides, null, 2),
  }
  return { name, draft: { ...EMPTY_DRAFT, blocks: [block], abi: ABI } }
}

const approve = (amount: bigint) => `approve(address,uint256) ["${DESK_AT}", "${amount}"]`
const rich = { [SIGNER]: { balance: toHex(parseEther('2')) } }

/** One per feature of the page. */
export const EXAMPLES: Example[] = [
  example('A swap', market(parseEther('1.5')), { to: DESK_AT, data: swap }),
  example('A swap that fails', market(0n), { to: DESK_AT, data: swap }),
  example('Approve and swap', market(0n), { to: WETH, data: approve(parseEther('1.5')) }, { to: DESK_AT, data: swap }),
  example('An unlimited allowance', market(0n), { to: WETH, data: approve(2n ** 256n - 1n) }),
  example('Too little gas', market(parseEther('1.5')), { to: DESK_AT, data: swap, gas: '60000' }),
  example('Too little of a token', market(0n, 1n), { to: DESK_AT, data: swap }),
  example('Too little ether', rich, { to: SOMEBODY, value: '5' }),
  example('A delegation (EIP-7702)', rich, {
    to: SOMEBODY,
    value: '0.1',
    more: JSON.stringify({ authorizationList: [DELEGATION] }),
  }),
  example('A lying token', { ...rich, [LIAR_AT]: { code: LIAR } }, { to: LIAR_AT, data: 'claim()' }),
]
