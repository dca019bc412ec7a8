import type { Address, Hex, StateOverride } from '@upfront/protocol'
import type { CallRecord, Frame } from '../engine/call-record.js'
import { SELECTORS } from './entry-point.js'

/** What a run assumes about a validation: that its signature is valid, or that the whole validation passes. */
export type Assumed = 'signature' | 'validation'

/** Whose validation is called. */
export type Validator = 'account' | 'paymaster'

/** Byte offset, in the return data, of the word with the signature's verdict. */
const VERDICT_AT = { account: 0, paymaster: 32 }
const SELECTOR = { account: SELECTORS.validateUserOp, paymaster: SELECTORS.validatePaymasterUserOp }
const LOW_160 = `73${'ff'.repeat(20)}`
const DELEGATED = '0xef0100'

/**
 * State overrides that make a validation with an invalid signature return a valid verdict, so that the rest of the operation can be
 * simulated. The contract that returned the verdict (behind a proxy: the implementation) moves to another address; code in its place
 * forwards every call and changes only that verdict, only towards the EntryPoint.
 * @param frames of the validation
 * @returns undefined if the operation itself creates that contract
 */
export function assumeSignature(
  validator: Validator,
  assumed: Assumed,
  frames: readonly Frame[],
  record: CallRecord,
  entryPoint: Address,
): StateOverride[] | undefined {
  const contract = findVerdictContract(frames, record)
  if (contract === undefined) return undefined
  const moved = unusedAddress(contract.address)
  const code = assumed === 'signature' ? forgivingCode(validator, moved, entryPoint) : bypassingCode(moved, entryPoint)
  return [
    { address: contract.address, code },
    { address: moved, code: contract.code },
  ]
}

/** The contract whose code returns the verdict: the last one in the chain of DELEGATECALLs with unchanged input. */
function findVerdictContract(
  frames: readonly Frame[],
  { accounts }: CallRecord,
): { address: Address; code: Hex } | undefined {
  let [deciding] = frames
  for (const frame of frames.slice(1)) {
    if (frame.kind !== 'DELEGATECALL' || frame.depth !== deciding!.depth + 1 || frame.input !== frames[0]!.input) break
    deciding = frame
  }
  const codeOf = (address: Address | undefined) => accounts.find((account) => account.address === address)?.before.code
  const address = deciding?.to
  const code = codeOf(address)
  if (address === undefined || code === undefined || code === '0x') return undefined
  if (!code.startsWith(DELEGATED)) return { address, code }
  const delegate = `0x${code.slice(DELEGATED.length)}` as Address
  const own = codeOf(delegate)
  return own === undefined || own === '0x' ? undefined : { address: delegate, code: own }
}

/** An unused address. */
function unusedAddress(address: Address): Address {
  return `0x5eed4337${address.slice(10)}`
}

// Instructions in hex. No PUSH0: some chains lack it.
const RETURN_ANSWER = '3d6000f3'
const REVERT_WITH_ANSWER = '3d6000fd'

/** Forwards every call. If the EntryPoint called the validation, a verdict of 1 (invalid signature) becomes 0. */
function forgivingCode(validator: Validator, moved: Address, entryPoint: Address): Hex {
  const at = VERDICT_AT[validator].toString(16).padStart(2, '0')
  // MLOAD(at) & (2^160 - 1) == 1
  const isRefused = `60${at}51${LOW_160}16600114`
  // MSTORE(at, MLOAD(at) & ~(2^160 - 1))
  const forgive = `60${at}51${LOW_160}191660${at}52`
  return assemble([
    forwardCall(moved),
    { jumpIf: 'answered' },
    REVERT_WITH_ANSWER,
    { label: 'answered' },
    // The EntryPoint called the validation, and the verdict is 1.
    `${isValidationCall(SELECTOR[validator], entryPoint)}${isRefused}16`,
    { jumpIf: 'refused' },
    RETURN_ANSWER,
    { label: 'refused' },
    `${forgive}${RETURN_ANSWER}`,
  ])
}

/** Forwards every call except the EntryPoint's validation call: that one pays `missingAccountFunds` and returns 0. */
function bypassingCode(moved: Address, entryPoint: Address): Hex {
  // CALL(gas, caller, missingAccountFunds), result ignored.
  const pay = '6000600060006000604435335af150'
  return assemble([
    isValidationCall(SELECTORS.validateUserOp, entryPoint),
    { jumpIf: 'asked' },
    forwardCall(moved),
    { jumpIf: 'answered' },
    REVERT_WITH_ANSWER,
    { label: 'answered' },
    RETURN_ANSWER,
    { label: 'asked' },
    // MSTORE(0, 0); RETURN(0, 32)
    `${pay}600060005260206000f3`,
  ])
}

/** Copies the calldata, DELEGATECALLs, copies the return data; leaves the success flag on the stack. */
function forwardCall(moved: Address): string {
  const copyInput = '366000600037'
  const copyAnswer = '3d600060003e'
  return `${copyInput}6000600036600073${moved.slice(2)}5af4${copyAnswer}`
}

/** Leaves on the stack whether the caller is the EntryPoint and the calldata begins with the selector. */
function isValidationCall(selector: Hex, entryPoint: Address): string {
  return `3373${entryPoint.slice(2)}1460003560e01c63${selector.slice(2)}1416`
}

type Part = string | { label: string } | { jumpIf: string }

function assemble(parts: readonly Part[]): Hex {
  const places = new Map<string, number>()
  let length = 0
  for (const part of parts) {
    if (typeof part === 'string') length += part.length / 2
    else if ('label' in part) {
      places.set(part.label, length)
      length += 1
    } else length += 4
  }
  return `0x${parts
    .map((part) =>
      typeof part === 'string'
        ? part
        : 'label' in part
          ? '5b'
          : `61${places.get(part.jumpIf)!.toString(16).padStart(4, '0')}57`,
    )
    .join('')}`
}
