import { encodeErrorResult, encodeFunctionData, erc20Abi, type Hex, parseAbi } from 'viem'
import { assemble } from '../assemble.js'
import { type GatewayProcess, startGatewayProcess } from '../gateway-process.js'
import { type GenesisUpstream, startGenesisUpstream } from '../genesis-upstream.js'

export const OWNER = '0xa000000000000000000000000000000000000000'
export const FRIEND = '0xf000000000000000000000000000000000000001'
export const TOKEN = '0x7000000000000000000000000000000000000001'
export const FAILS = '0x7000000000000000000000000000000000000003'
export const OUTER = '0x7000000000000000000000000000000000000004'
export const MAKER = '0x7000000000000000000000000000000000000005'
export const TRANSFER = 0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3efn
export const chainId = 7357
export const word = (value: bigint | string): Hex => `0x${BigInt(value).toString(16).padStart(64, '0')}`

const honest = assemble(`CALLDATASIZE 4 EQ >decimals JUMPI CALLDATASIZE 36 EQ >balanceOf JUMPI
  36 CALLDATALOAD 0 MSTORE 36 CALLDATALOAD CALLER SLOAD SUB CALLER SSTORE
  36 CALLDATALOAD 4 CALLDATALOAD SLOAD ADD 4 CALLDATALOAD SSTORE 4 CALLDATALOAD CALLER ${TRANSFER} 32 0 LOG3
  1 0 MSTORE 32 0 RETURN
  @balanceOf 4 CALLDATALOAD SLOAD 0 MSTORE 32 0 RETURN @decimals 6 0 MSTORE 32 0 RETURN`)
const insufficient = encodeErrorResult({
  abi: parseAbi(['error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)']),
  args: [OWNER, 0n, 25n],
})
const failing = `0x61${((insufficient.length - 2) / 2).toString(16).padStart(4, '0')}80600c6000396000fd${insufficient.slice(2)}`
/** Calls the identity precompile, sends the friend 1 wei, then calls the contract that fails. */
const outer = assemble(
  `0 0 0 0 4 GAS STATICCALL POP 0 0 0 0 1 ${BigInt(FRIEND)} GAS CALL POP 0 0 0 0 0 ${BigInt(FAILS)} GAS CALL POP STOP`,
)
export const STATE = {
  [OWNER]: { balance: '0xde0b6b3a7640000' },
  [TOKEN]: { code: honest, stateDiff: { [word(OWNER)]: word(1_000_000n) } },
  [FAILS]: { code: failing },
  [OUTER]: { code: outer, balance: '0x5' },
  [MAKER]: { code: assemble('0 0 0 CREATE POP STOP') },
}
export const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [FRIEND, 250_000n] })
export const transfer = { from: OWNER, to: TOKEN, data }

let upstream: GenesisUpstream
let gateway: GatewayProcess

beforeAll(async () => {
  // The chain itself holds what requests without overrides need.
  upstream = await startGenesisUpstream()
  gateway = await startGatewayProcess({ UPSTREAM_RPC_URL: upstream.url, DIALECT: 'upfront' })
})

afterAll(async () => {
  await gateway?.stop()
  upstream?.close()
})

// biome-ignore lint/suspicious/noExplicitAny: what comes is what is tested.
export async function ask(method: string, ...params: unknown[]): Promise<any> {
  const { result, error } = await gateway.call(method, params)
  expect(error).toBeUndefined()
  return result
}

export async function refusal(method: string, ...params: unknown[]) {
  return (await gateway.call(method, params)).error
}
