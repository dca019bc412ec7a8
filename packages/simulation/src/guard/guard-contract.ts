import type { Address, Hex } from '@upfront/protocol'
import { concatHex, encodeFunctionData, getCreate2Address, pad, parseAbi } from 'viem'
import { GUARD_CREATION } from './guard-code.js'

const DEPLOYER: Address = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
const SALT = pad('0x', { size: 32 })

/** Address of `contracts/OutcomeGuard.sol` as deployed by {@link guardDeployment}: the same on every chain. */
export const OUTCOME_GUARD = getCreate2Address({
  from: DEPLOYER,
  salt: SALT,
  bytecode: GUARD_CREATION,
}).toLowerCase() as Address

/** The call that deploys it through https://github.com/Arachnid/deterministic-deployment-proxy. */
export const guardDeployment: { to: Address; data: Hex } = { to: DEPLOYER, data: concatHex([SALT, GUARD_CREATION]) }

export const guardAbi = parseAbi([
  'function open((address token, address spender)[] watched)',
  'function close((address token, address spender, int256 least)[] bounds)',
  'error NotOpened(address token, address spender)',
  'error BalanceBelow(address token, int256 least, int256 change)',
  'error AllowanceAbove(address token, address spender, uint256 most, uint256 found)',
])

/** A bound in the contract's encoding. A zero `token` means the native currency, a zero `spender` a bound on the balance. */
export interface GuardBound {
  token: Address
  spender: Address
  /** For a balance: the least change, in the token's smallest unit. For an allowance: the maximum, unless it was higher before. */
  least: bigint
}

/** Calldata for the guard's calls before and after the guarded call. */
export function guardCalls(bounds: readonly GuardBound[]): { open: Hex; close: Hex } {
  return {
    open: encodeFunctionData({ abi: guardAbi, functionName: 'open', args: [bounds] }),
    close: encodeFunctionData({ abi: guardAbi, functionName: 'close', args: [bounds] }),
  }
}
