import { formatUnits } from '@upfront/protocol'
import type { FailedToken } from '../assets/failed-token.js'
import type { Decoded } from './abi-values.js'

/** Readable messages for OpenZeppelin's and ERC-6093's errors; `{name}` is replaced by the argument. */
const MESSAGES: Readonly<Record<string, string>> = {
  ERC20InsufficientBalance: 'holds {balance}, needs {needed}',
  ERC20InsufficientAllowance: '{spender} may take {allowance}, needs {needed}',
  ERC20InvalidSender: '{sender} is not a valid sender',
  ERC20InvalidReceiver: '{receiver} is not a valid receiver',
  ERC20InvalidApprover: '{approver} is not a valid approver',
  ERC20InvalidSpender: '{spender} is not a valid spender',
  ERC721InvalidOwner: '{owner} is not a valid owner',
  ERC721NonexistentToken: 'token {tokenId} does not exist',
  ERC721IncorrectOwner: '{owner} owns token {tokenId}, not {sender}',
  ERC721InvalidSender: '{sender} is not a valid sender',
  ERC721InvalidReceiver: '{receiver} is not a valid receiver',
  ERC721InsufficientApproval: '{operator} is not approved for token {tokenId}',
  ERC721InvalidApprover: '{approver} is not a valid approver',
  ERC721InvalidOperator: '{operator} is not a valid operator',
  ERC1155InsufficientBalance: 'holds {balance} of token {tokenId}, needs {needed}',
  ERC1155InvalidSender: '{sender} is not a valid sender',
  ERC1155InvalidReceiver: '{receiver} is not a valid receiver',
  ERC1155MissingApprovalForAll: '{operator} is not approved by {owner}',
  ERC1155InvalidApprover: '{approver} is not a valid approver',
  ERC1155InvalidOperator: '{operator} is not a valid operator',
  ERC1155InvalidArrayLength: '{idsLength} ids, {valuesLength} values',
  ERC2612ExpiredSignature: 'the permit expired at {deadline}',
  ERC2612InvalidSigner: 'signed by {signer}, not by the owner {owner}',
  ERC4626ExceededMaxDeposit: 'deposits {assets}, may deposit {max}',
  ERC4626ExceededMaxMint: 'mints {shares}, may mint {max}',
  ERC4626ExceededMaxWithdraw: 'withdraws {assets}, may withdraw {max}',
  ERC4626ExceededMaxRedeem: 'redeems {shares}, may redeem {max}',
  OwnableUnauthorizedAccount: '{account} is not the owner',
  OwnableInvalidOwner: '{owner} is not a valid owner',
  AccessControlUnauthorizedAccount: '{account} lacks role {neededRole}',
  InvalidAccountNonce: 'the nonce of {account} is {currentNonce}',
  SafeERC20FailedOperation: 'the call to token {token} failed',
  AddressEmptyCode: 'there is no code at {target}',
  EnforcedPause: 'is paused',
  ExpectedPause: 'is not paused',
  ReentrancyGuardReentrantCall: 'reentrant call',
  InvalidInitialization: 'is already initialized',
  FailedCall: 'a call failed',
  AllowanceExpired: 'the allowance expired at {deadline}',
  InsufficientAllowance: 'the allowance is {amount}',
  SignatureExpired: 'the signature expired at {signatureDeadline}',
  FailedOp: 'operation {opIndex}: {reason}',
}

/** Errors that name an available and a required token amount. */
const AMOUNT_ERRORS = /^(?:ERC20)?Insufficient(?:Balance|Allowance)$/

/** Rewrites the `meaning` of an amount error in the token's units; returns any other error unchanged. */
export function formatInTokenUnits(error: Decoded, token: FailedToken | undefined): Decoded {
  const [whose, ...amounts] = Object.entries(error.args)
  if (token === undefined || whose === undefined || amounts.length !== 2 || !AMOUNT_ERRORS.test(error.name))
    return error
  const { decimals } = token
  if (!amounts.every(([, amount]) => typeof amount === 'string' && /^\d+$/.test(amount))) return error
  const inUnits = amounts.map(([name, amount]) => [name, formatUnits(BigInt(amount as string), decimals)])
  const args = Object.fromEntries([whose, ...inUnits])
  return { ...error, decimals, ...(error.meaning !== undefined && { meaning: errorMessage(error.name, args) }) }
}

/** Such as `ERC20InsufficientBalance: holds 0, needs 25`; an error without a message lists its arguments by name. */
export function errorMessage(name: string, args: Readonly<Record<string, unknown>>): string {
  const words = Object.hasOwn(MESSAGES, name) ? MESSAGES[name]! : ''
  const names = [...words.matchAll(/\{(\w+)\}/g)].map(([, argument]) => argument!)
  const said =
    words !== '' && names.every((argument) => Object.hasOwn(args, argument))
      ? words.replace(/\{(\w+)\}/g, (_, argument: string) => shown(args[argument]))
      : Object.entries(args)
          .map(([argument, value]) => `${argument} ${shown(value)}`)
          .join(', ')
  return said === '' ? name : `${name}: ${said}`
}

/** Arguments come from a contract and may have any content. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '').slice(0, 200)
}
