import { type Address, decodeErrorResult, formatUnits, type Hex, hexToBigInt, parseAbi } from 'viem'

/** As the gateway's `upfront_simulate` answers, as far as it is shown. */
export interface SimulatedBlock {
  number: Hex
  calls: SimulatedCall[]
}

export interface SimulatedCall {
  gasUsed: Hex
  returnData: Hex
  logs: { address: Address; topics: Hex[]; data: Hex }[]
  error?: { code: number; message: string; data?: Hex }
  trace: Frame
  stateDiff: object
  assetChanges: AssetChanges
  /** Where the request brought an ABI. */
  decoded?: { call?: Decoded; error?: Decoded; logs: (Decoded | null)[] }
}

/** A function, error or event with its arguments. */
export interface Decoded {
  name: string
  args: Record<string, unknown>
  /** Of a panic. */
  meaning?: string
}

/** A frame of geth's callTracer. */
export interface Frame {
  type: string
  from: Address
  to?: Address
  value?: Hex
  gasUsed: Hex
  error?: string
  revertReason?: string
  calls?: Frame[]
}

export interface Asset {
  type: 'native' | 'erc20' | 'erc721' | 'erc1155'
  address?: Address
  tokenId?: Hex
  /** This and the next are the token's own words. */
  symbol?: string
  decimals?: number
}

type Confirmation = 'agrees' | 'disagrees' | 'unknown'

export interface AssetChanges {
  transfers: (Asset & { from: Address; to: Address; amount: Hex })[]
  balances: (Asset & { account: Address; before?: Hex; after?: Hex; confirmation: Confirmation })[]
  owners: (Asset & { confirmation: Confirmation })[]
  approvals: (Approval & { confirmation: Confirmation })[]
}

export interface Approval {
  token: Asset
  owner: Address
  spender: Address
  amount?: Hex
  tokenId?: Hex
  approved?: boolean
}

const SOLIDITY_ERRORS = parseAbi(['error Error(string)', 'error Panic(uint256)'])
/** https://docs.soliditylang.org, "Panic via assert and Error via require". */
const PANICS: Record<string, string> = {
  '1': 'an assertion failed',
  '17': 'arithmetic overflow or underflow',
  '18': 'division by zero',
  '33': 'conversion to an enum value that does not exist',
  '34': 'a storage byte array is wrongly encoded',
  '49': 'pop() on an empty array',
  '50': 'an array index is out of bounds',
  '65': 'too much memory was allocated',
  '81': 'an internal function that was never set was called',
}
/** From here on an allowance is meant to have no end. */
const ENDLESS = 2n ** 159n

/** An amount in the asset's units where it names its decimals. */
export function amountText(asset: Asset, amount: Hex): string {
  const { type, symbol, decimals, tokenId } = asset
  const units = hexToBigInt(amount)
  if (type === 'native') return `${formatUnits(units, 18)} ETH`
  const id = tokenId === undefined ? '' : ` no. ${hexToBigInt(tokenId)}`
  if (type === 'erc721') return `${symbol ?? 'token'}${id}`
  const shown = decimals === undefined ? `${units}` : formatUnits(units, decimals)
  return `${shown} ${symbol ?? 'units'}${id}`
}

/** What an approval lets its spender do. */
export function approvalText({ token, amount, tokenId, approved }: Approval): string {
  const name = token.symbol ?? token.address ?? 'the token'
  if (approved === false || (amount !== undefined && hexToBigInt(amount) === 0n)) return `take nothing more of ${name}`
  if (tokenId !== undefined) return `take ${name} no. ${hexToBigInt(tokenId)}`
  if (amount === undefined || hexToBigInt(amount) >= ENDLESS) return `take all of ${name}`
  return `take ${amountText(token, amount)}`
}

/** Whether some contract's own view contradicts its logs. */
export function isDoubtful({ balances, owners, approvals }: AssetChanges): boolean {
  return [...balances, ...owners, ...approvals].some(({ confirmation }) => confirmation === 'disagrees')
}

/** `Nope(owner: 0x01, id: 7)` */
export function decodedText({ name, args }: Decoded): string {
  const shown = Object.entries(args).map(
    ([argument, value]) => `${argument}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return `${name}(${shown.join(', ')})`
}

/** Whether the frame, or one inside it, failed. */
export function hasFailure({ error, calls = [] }: Frame): boolean {
  return error !== undefined || calls.some(hasFailure)
}

/** Why a call failed, in words; undefined where it did not. */
export function reasonOf({ error, returnData, decoded }: SimulatedCall): string | undefined {
  if (error === undefined) return undefined
  if (decoded?.error !== undefined && !['Error', 'Panic'].includes(decoded.error.name))
    return `reverted: ${decodedText(decoded.error)}`
  const data = error.data ?? returnData
  try {
    const { errorName, args } = decodeErrorResult({ abi: SOLIDITY_ERRORS, data })
    if (errorName === 'Error') return `reverted: ${args[0]}`
    return `panicked: ${PANICS[String(args[0])] ?? `code ${args[0]}`}`
  } catch {
    return data.length > 2 && error.code === 3 ? `${error.message}, with ${data}` : error.message
  }
}
