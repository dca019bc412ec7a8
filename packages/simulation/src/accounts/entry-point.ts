import type { Address, Hex, UserOperation } from '@upfront/protocol'
import { ContractAbi } from './contract-abi.js'

// ERC-4337's EntryPoint, v0.7 and later: https://eips.ethereum.org/EIPS/eip-4337, account-abstraction's IEntryPoint.

const OPERATION =
  '(address sender, uint256 nonce, bytes initCode, bytes callData, bytes32 accountGasLimits, uint256 preVerificationGas, bytes32 gasFees, bytes paymasterAndData, bytes signature)'
const SOURCE = [
  `function handleOps(${OPERATION}[] ops, address beneficiary)`,
  `function getUserOpHash(${OPERATION} userOp) view returns (bytes32)`,
  'function getDepositInfo(address account) view returns (uint256 deposit, bool staked, uint112 stake, uint32 unstakeDelaySec, uint48 withdrawTime)',
  'error FailedOp(uint256 opIndex, string reason)',
  'error FailedOpWithRevert(uint256 opIndex, string reason, bytes inner)',
]

export const SELECTORS = {
  createSender: '0x570e1a36',
  initEip7702Sender: '0xc09ad0d9',
  validateUserOp: '0x19822f7c',
  validatePaymasterUserOp: '0x52b7512c',
  postOp: '0x7c627b21',
  executeUserOp: '0x8dd7712f',
  depositTo: '0xb760faf9',
} as const satisfies Record<string, Hex>

/** `UserOperationEvent(bytes32,address,address,uint256,bool success,uint256 actualGasCost,uint256 actualGasUsed)`; data: the last four. */
export const USER_OPERATION_EVENT = '0x49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f'

/** Sends the bundle and receives the compensation: an unused address, funded by overrides. */
export const BUNDLER: Address = '0xb0d1e40000000000000000000000000000004337'

/** An operation with every limit and price filled in. */
export type PricedOperation = UserOperation &
  Required<
    Pick<
      UserOperation,
      | 'verificationGasLimit'
      | 'callGasLimit'
      | 'preVerificationGas'
      | 'maxFeePerGas'
      | 'maxPriorityFeePerGas'
      | 'signature'
    >
  >

export const entryPointAbi = ContractAbi.of(SOURCE)

/** Calldata of `handleOps` for this single operation. */
export function handleOps(abi: ContractAbi, operation: PricedOperation): Hex {
  return abi.encode('handleOps', [[packed(operation)], BUNDLER])
}

export function getUserOpHash(abi: ContractAbi, operation: PricedOperation): Hex {
  return abi.encode('getUserOpHash', [packed(operation)])
}

/** The EntryPoint's reason for refusing an operation, such as `AA24 signature error`; undefined if the data is no such error. */
export function refusalIn(abi: ContractAbi, data: Hex): { reason: string; inner?: Hex } | undefined {
  const [, reason, inner] = (abi.errorArguments(data) ?? []) as [bigint?, string?, Hex?]
  return reason === undefined ? undefined : { reason, ...(inner !== undefined && { inner }) }
}

function packed(operation: PricedOperation): object {
  const { sender, nonce, initCode, callData, preVerificationGas, paymaster, signature } = operation
  const { verificationGasLimit, callGasLimit, maxPriorityFeePerGas, maxFeePerGas } = operation
  return {
    ...{ sender, nonce, initCode, callData, preVerificationGas, signature },
    accountGasLimits: `0x${half(verificationGasLimit)}${half(callGasLimit)}`,
    gasFees: `0x${half(maxPriorityFeePerGas)}${half(maxFeePerGas)}`,
    paymasterAndData:
      paymaster === undefined
        ? '0x'
        : `${paymaster.address}${half(paymaster.verificationGasLimit ?? 0n)}${half(paymaster.postOpGasLimit ?? 0n)}${paymaster.data.slice(2)}`,
  }
}

function half(value: bigint): string {
  return value.toString(16).padStart(32, '0')
}
