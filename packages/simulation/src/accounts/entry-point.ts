import type { Address, Hash, Hex, UserOperation } from '@upfront/protocol'
import type { decodeErrorResult, encodeFunctionData, keccak256 } from 'viem'

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

/** `UserOperationEvent(bytes32,address,address,uint256,bool success,uint256 actualGasCost,uint256 actualGasUsed)`, in its data the last four. */
export const USER_OPERATION_EVENT = '0x49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f'

/** Who sends the bundle and is compensated for it: an account of nobody's, with enough. */
export const BUNDLER: Address = '0xb0d1e40000000000000000000000000000004337'

/** An operation with every limit and price that it runs with. */
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

interface Viem {
  decodeErrorResult: typeof decodeErrorResult
  encodeFunctionData: typeof encodeFunctionData
  keccak256: typeof keccak256
}

/** viem is loaded with the first operation: loading it takes long. */
export class EntryPointAbi {
  static #made: Promise<EntryPointAbi> | undefined
  readonly keccak256: (bytes: Hex) => Hash
  readonly #encode: typeof encodeFunctionData
  readonly #decodeError: typeof decodeErrorResult
  readonly #abi: readonly never[]

  private constructor(viem: Viem, abi: unknown) {
    this.keccak256 = (bytes) => viem.keccak256(bytes)
    this.#encode = viem.encodeFunctionData
    this.#decodeError = viem.decodeErrorResult
    this.#abi = abi as never[]
  }

  static load(): Promise<EntryPointAbi> {
    EntryPointAbi.#made ??= import('viem').then((viem) => new EntryPointAbi(viem, viem.parseAbi(SOURCE)))
    return EntryPointAbi.#made
  }

  handleOps(operation: PricedOperation): Hex {
    return this.#call('handleOps', [[packed(operation)], BUNDLER])
  }

  getUserOpHash(operation: PricedOperation): Hex {
    return this.#call('getUserOpHash', [packed(operation)])
  }

  getDepositInfo(account: Address): Hex {
    return this.#call('getDepositInfo', [account])
  }

  /** Why the EntryPoint refused an operation: `AA24 signature error`; undefined where it said something else. */
  refusal(data: Hex): { reason: string; inner?: Hex } | undefined {
    try {
      const decoded = this.#decodeError({ abi: this.#abi, data }) as unknown as { args: [bigint, string, Hex?] }
      const [, reason, inner] = decoded.args
      return { reason, ...(inner !== undefined && { inner }) }
    } catch {
      return undefined
    }
  }

  #call(functionName: string, args: unknown[]): Hex {
    return this.#encode({ abi: this.#abi, functionName, args } as never)
  }
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
