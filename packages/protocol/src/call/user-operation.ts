import { decodeAddress, decodeBytes } from '../decode/bytes.js'
import { DecodeError, mismatch, Place } from '../decode/decode-error.js'
import { decodeQuantity } from '../decode/quantity.js'
import { decodeObject, type JsonObject, rejectUnknown } from '../decode/structure.js'
import type { Address, Hex } from '../hex.js'
import { decodeAuthorization } from '../simulate/decode-authorization-list.js'
import type { Authorization } from '../simulate/simulation-request.js'

/** An ERC-4337 user operation of EntryPoint v0.7 and later. Values not given are absent. */
export interface UserOperation {
  sender: Address
  nonce: bigint
  /** The factory and its calldata; `0x` if the account exists. */
  initCode: Hex
  callData: Hex
  verificationGasLimit?: bigint
  callGasLimit?: bigint
  preVerificationGas?: bigint
  maxFeePerGas?: bigint
  maxPriorityFeePerGas?: bigint
  paymaster?: Paymaster
  signature?: Hex
  /** The sender's EIP-7702 authorization. */
  authorization?: Authorization
}

export interface Paymaster {
  address: Address
  verificationGasLimit?: bigint
  postOpGasLimit?: bigint
  /** The paymaster's data, including its signature. */
  data: Hex
}

const EITHER = ['sender', 'nonce', 'callData', 'preVerificationGas', 'signature', 'eip7702Auth'] as const
const PACKED = ['initCode', 'accountGasLimits', 'gasFees', 'paymasterAndData'] as const
const UNPACKED = [
  ...['factory', 'factoryData', 'callGasLimit', 'verificationGasLimit', 'maxFeePerGas', 'maxPriorityFeePerGas'],
  ...['paymaster', 'paymasterData', 'paymasterVerificationGasLimit', 'paymasterPostOpGasLimit', 'paymasterSignature'],
]
const ALIASES = { from: 'sender', data: 'callData', calldata: 'callData', authorization: 'eip7702Auth' }
/** Replaces the factory if the sender is delegated by EIP-7702. */
const DELEGATED = '0x7702'
/** Ends `paymasterAndData` if the data is followed by a separate paymaster signature (EntryPoint v0.9). */
const PAYMASTER_SIGNATURE_END = '22e325a297439656'
const ADDRESS_LENGTH = 42
const GAS_LENGTH = 32

/**
 * Decodes a user operation as in JSON-RPC (ERC-7769, separate values) or as in the contract (packed gas limits, fees and paymaster).
 * @throws DecodeError with the place of the error
 */
export function decodeUserOperation(value: unknown, place: Place): UserOperation {
  const fields = present(decodeObject(value, 'a user operation', place))
  rejectUnknown(fields, [...EITHER, ...PACKED, ...UNPACKED], ALIASES, place)
  const packed = PACKED.find((name) => name in fields)
  const unpacked = UNPACKED.find((name) => name in fields)
  if (packed !== undefined && unpacked !== undefined) {
    const isOld = 'initCode' in fields || 'paymasterAndData' in fields
    const hint = isOld ? ', or is of EntryPoint v0.6, which is not supported' : ''
    throw new DecodeError(
      place,
      `\`${packed}\` is of the packed form, \`${unpacked}\` of the unpacked one: use one form${hint}`,
    )
  }
  const bytes = (name: string) => (name in fields ? decodeBytes(fields[name], place, name) : undefined)
  const quantity = (name: string) => (name in fields ? decodeQuantity(fields[name], 256, place, name) : undefined)
  const signature = bytes('signature')
  const preVerificationGas = quantity('preVerificationGas')
  return {
    sender: decodeAddress(fields.sender, place, 'sender'),
    nonce: decodeQuantity(fields.nonce, 256, place, 'nonce'),
    callData: bytes('callData') ?? '0x',
    ...(preVerificationGas !== undefined && { preVerificationGas }),
    ...(signature !== undefined && signature !== '0x' && { signature }),
    ...('eip7702Auth' in fields && { authorization: authorizationIn(fields, place) }),
    ...(packed === undefined ? unpackedFields(fields, place) : packedFields(fields, place)),
  }
}

/** The authorization may be unsigned: then the sender counts as its authority. */
function authorizationIn({ eip7702Auth, sender }: JsonObject, place: Place): Authorization {
  const at = new Place(place, 'eip7702Auth')
  const given = decodeObject(eip7702Auth, 'an authorization', at)
  const isSigned = ['r', 's', 'yParity'].some((name) => (given[name] ?? undefined) !== undefined)
  return decodeAuthorization(isSigned ? given : { ...given, authority: given.authority ?? sender }, at)
}

function unpackedFields(fields: JsonObject, place: Place): Partial<UserOperation> & { initCode: Hex } {
  const gas = (name: string) => (name in fields ? decodeGas(fields[name], place, name) : undefined)
  const bytes = (name: string) => (name in fields ? decodeBytes(fields[name], place, name) : '0x')
  const factory = fields.factory === undefined ? '0x' : decodeFactory(fields.factory, place)
  if (factory === '0x' && bytes('factoryData') !== '0x')
    throw new DecodeError(new Place(place, 'factoryData'), 'is set without `factory`')
  const ofPaymaster = UNPACKED.find((name) => name.startsWith('paymaster') && name !== 'paymaster' && name in fields)
  if (fields.paymaster === undefined && ofPaymaster !== undefined && bytes0(fields[ofPaymaster]))
    throw new DecodeError(new Place(place, ofPaymaster), 'is set without `paymaster`')
  const named = {
    verificationGasLimit: gas('verificationGasLimit'),
    callGasLimit: gas('callGasLimit'),
    maxFeePerGas: gas('maxFeePerGas'),
    maxPriorityFeePerGas: gas('maxPriorityFeePerGas'),
  }
  const [verificationGasLimit, postOpGasLimit] = [gas('paymasterVerificationGasLimit'), gas('paymasterPostOpGasLimit')]
  return {
    initCode: `${factory}${bytes('factoryData').slice(2)}` as Hex,
    ...present(named),
    ...(fields.paymaster !== undefined && {
      paymaster: {
        address: decodeAddress(fields.paymaster, place, 'paymaster'),
        ...present({ verificationGasLimit, postOpGasLimit }),
        data: `${bytes('paymasterData')}${paymasterSignatureIn(fields, place)}` as Hex,
      },
    }),
  }
}

function bytes0(value: unknown): boolean {
  return value !== '0x' && value !== '0x0'
}

function paymasterSignatureIn({ paymasterSignature }: JsonObject, place: Place): string {
  if (paymasterSignature === undefined) return ''
  const signature = decodeBytes(paymasterSignature, place, 'paymasterSignature').slice(2)
  const length = signature.length / 2
  if (length > 0xffff) throw new DecodeError(new Place(place, 'paymasterSignature'), 'expected at most 65,535 bytes')
  return `${signature}${length.toString(16).padStart(4, '0')}${PAYMASTER_SIGNATURE_END}`
}

function packedFields(fields: JsonObject, place: Place): Partial<UserOperation> & { initCode: Hex } {
  const initCode = 'initCode' in fields ? decodeBytes(fields.initCode, place, 'initCode') : '0x'
  if (initCode !== '0x' && initCode.length < ADDRESS_LENGTH && !initCode.startsWith(DELEGATED))
    throw mismatch(new Place(place, 'initCode'), 'a factory of 20 bytes, then its calldata', fields.initCode)
  const pair = (name: 'accountGasLimits' | 'gasFees') => {
    if (!(name in fields)) return []
    const bytes = decodeBytes(fields[name], place, name)
    if (bytes.length !== 66) throw mismatch(new Place(place, name), 'two values of 16 bytes', fields[name])
    return [gasAt(bytes, 2), gasAt(bytes, 2 + GAS_LENGTH)]
  }
  const [verificationGasLimit, callGasLimit] = pair('accountGasLimits')
  const [maxPriorityFeePerGas, maxFeePerGas] = pair('gasFees')
  const ofPaymaster =
    'paymasterAndData' in fields ? decodeBytes(fields.paymasterAndData, place, 'paymasterAndData') : '0x'
  const gasFrom = ADDRESS_LENGTH
  const dataFrom = gasFrom + 2 * GAS_LENGTH
  if (ofPaymaster !== '0x' && ofPaymaster.length < dataFrom)
    throw mismatch(
      new Place(place, 'paymasterAndData'),
      'a paymaster of 20 bytes, two gas limits of 16, then its data',
      fields.paymasterAndData,
    )
  return {
    initCode,
    ...present({ verificationGasLimit, callGasLimit, maxPriorityFeePerGas, maxFeePerGas }),
    ...(ofPaymaster !== '0x' && {
      paymaster: {
        address: ofPaymaster.slice(0, ADDRESS_LENGTH) as Address,
        verificationGasLimit: gasAt(ofPaymaster, gasFrom),
        postOpGasLimit: gasAt(ofPaymaster, gasFrom + GAS_LENGTH),
        data: `0x${ofPaymaster.slice(dataFrom)}` as Hex,
      },
    }),
  }
}

function gasAt(bytes: Hex, from: number): bigint {
  return BigInt(`0x${bytes.slice(from, from + GAS_LENGTH)}`)
}

function decodeGas(value: unknown, place: Place, name: string): bigint {
  const gas = decodeQuantity(value, 256, place, name)
  if (gas >> 128n !== 0n) throw mismatch(new Place(place, name), 'a hex quantity of at most 128 bits', value)
  return gas
}

function decodeFactory(value: unknown, place: Place): Hex {
  // Some clients pad it to 20 bytes.
  if (typeof value === 'string' && /^0x7702(0{36})?$/.test(value)) return `${DELEGATED}${'0'.repeat(36)}`
  return decodeAddress(value, place, 'factory')
}

/** Removes fields that are null or undefined. */
function present<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } & JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  ) as never
}
