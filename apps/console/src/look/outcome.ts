import { type Address, decodeErrorResult, formatEther, type Hex, hexToBigInt, parseAbi } from 'viem'

/** As geth's `eth_simulateV1` answers. */
export interface SimulatedBlock {
  number: Hex
  timestamp: Hex
  baseFeePerGas: Hex
  calls: SimulatedCall[]
}

export interface SimulatedCall {
  status: Hex
  gasUsed: Hex
  returnData: Hex
  logs: Log[]
  error?: { code: number; message: string; data?: Hex }
}

export interface Log {
  address: Address
  topics: Hex[]
  data: Hex
}

/** Something that changed hands, as its log says. */
export interface Transfer {
  from: Address
  to: Address
  /** In the token's smallest unit; the id of an ERC-721. */
  amount: bigint
  /** Absent where it is ether. */
  token?: Address
}

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** The address that `traceTransfers` gives the logs of ether. */
const ETHER = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'
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

/** Ether and ERC-20 and ERC-721 transfers among the logs. */
export function transfersOf({ logs }: SimulatedCall): Transfer[] {
  return logs.flatMap(({ address, topics: [kind, from, to, id], data }) => {
    if (kind !== TRANSFER || from === undefined || to === undefined) return []
    const amount = id ?? data
    if (amount.length !== 66) return []
    const between = { from: addressOf(from), to: addressOf(to), amount: hexToBigInt(amount) }
    return [address.toLowerCase() === ETHER ? between : { ...between, token: address }]
  })
}

function addressOf(topic: Hex): Address {
  return `0x${topic.slice(-40)}`
}

export function amountText({ amount, token }: Transfer): string {
  return token === undefined ? `${formatEther(amount)} ETH` : `${amount} units`
}

/** Why a call failed, in words; undefined where it did not. */
export function reasonOf({ error, returnData }: SimulatedCall): string | undefined {
  if (error === undefined) return undefined
  const data = error.data ?? returnData
  try {
    const { errorName, args } = decodeErrorResult({ abi: SOLIDITY_ERRORS, data })
    if (errorName === 'Error') return `reverted: ${args[0]}`
    return `panicked: ${PANICS[String(args[0])] ?? `code ${args[0]}`}`
  } catch {
    return data.length > 2 && error.code === 3 ? `${error.message}, with ${data}` : error.message
  }
}
