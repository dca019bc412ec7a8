import { type Address, type Hex, hexToNumber } from 'viem'
import { recoverAuthorizationAddress } from 'viem/utils'
import type { Named } from '../names/decode.js'
import { isObject } from '../request/json.js'
import type { SimulatePayload } from '../request/payload.js'
import type { SimulatedCall } from './answer.js'
import { type AssetChanges, isDoubtful, isEndless } from './assets.js'
import { gainedApprovals } from './sentence.js'

/** A warning for the signer. */
export interface Warning {
  level: 'danger' | 'caution'
  title: string
  text: string
  /** The addresses concerned. */
  addresses: Address[]
}

/** An EIP-7702 authorization of the request. */
export interface Delegation {
  /** Undefined if the signature is invalid. */
  authority: Address | undefined
  /** The contract whose code the authority will run. */
  code: Address
}

const NOBODY = /^0x0{40}$/

/** The signers of the request's authorizations. */
export function delegationsOf({ blockStateCalls }: SimulatePayload): Promise<Delegation[]> {
  const entries = blockStateCalls.flatMap(({ calls }) =>
    calls.flatMap(({ authorizationList, userOperation }) => [
      ...(Array.isArray(authorizationList) ? authorizationList : []),
      ...ofOperation(userOperation),
    ]),
  )
  return Promise.all(entries.filter(isObject).map(delegationOf))
}

/** A user operation's authorization; unless signed, it counts as the sender's. */
function ofOperation(operation: unknown): object[] {
  if (!isObject(operation) || !isObject(operation.eip7702Auth)) return []
  const { eip7702Auth, sender } = operation
  return [eip7702Auth.r === undefined ? { authority: sender, ...eip7702Auth } : eip7702Auth]
}

async function delegationOf(entry: Record<string, unknown>): Promise<Delegation> {
  const { address, chainId, nonce, yParity, v, r, s } = entry as Record<string, Hex>
  const code = address as Address
  // Not signed yet: the gateway shows what it would do.
  if (entry.authority !== undefined) return { authority: entry.authority as Address, code }
  try {
    const number = (value: unknown) => (typeof value === 'number' ? value : hexToNumber(value as Hex))
    const authority = await recoverAuthorizationAddress({
      authorization: {
        address: code,
        chainId: number(chainId),
        nonce: number(nonce),
        yParity: number(yParity ?? v),
        r: r!,
        s: s!,
      },
    })
    return { authority, code }
  } catch {
    return { authority: undefined, code }
  }
}

/** Delegations as warnings, which come first. */
export function delegationWarnings(delegations: readonly Delegation[]): Warning[] {
  return delegations.map(({ authority, code }) => {
    const addresses = [authority, code].filter((address) => address !== undefined)
    if (NOBODY.test(code))
      return {
        level: 'caution',
        title: 'Ends a delegation',
        text: 'The account no longer runs another contract’s code.',
        addresses,
      }
    return {
      level: 'danger',
      title: 'Hands an account over to a contract (EIP-7702)',
      text: `${authority === undefined ? 'Its signature names no account.' : 'From then on the first account runs the code of the second: that code may move everything the account holds, now and later.'}`,
      addresses,
    }
  })
}

/** Warnings from the outcome. @param signer whose allowances count */
export function warningsOf(calls: readonly SimulatedCall[], changes: AssetChanges, signer: Address): Warning[] {
  return [
    ...doubtWarnings(changes),
    ...allowanceWarnings(changes, signer),
    ...calls.flatMap(({ logs, decoded }) => logs.flatMap((log, at) => powerWarning(log.address, decoded?.logs[at]))),
  ]
}

function doubtWarnings(changes: AssetChanges): Warning[] {
  if (!isDoubtful(changes)) return []
  const lying = [
    ...changes.balances,
    ...changes.owners,
    ...changes.approvals.map(({ token, confirmation }) => ({ ...token, confirmation })),
  ]
    .filter(({ confirmation }) => confirmation === 'disagrees')
    .flatMap(({ address }) => address ?? [])
  return [
    {
      level: 'danger',
      title: 'A token’s logs contradict its balances',
      text: 'It lies, takes a fee or pays interest: don’t rely on the amounts marked with ⚠.',
      addresses: [...new Set(lying)],
    },
  ]
}

function allowanceWarnings(changes: AssetChanges, signer: Address): Warning[] {
  return gainedApprovals(changes, signer)
    .filter(isEndless)
    .map(({ token, spender }) => ({
      level: 'caution',
      title: `An unlimited allowance: all ${token.symbol ?? 'tokens'}`,
      text: 'The spender may take everything, now and later, until the allowance is revoked.',
      addresses: [spender],
    }))
}

/** Events by which an account gains power over a contract. */
const POWERS: Record<string, (args: unknown[]) => { title: string; text: string; to: unknown } | undefined> = {
  OwnershipTransferred: ([before, after]) =>
    NOBODY.test(String(before))
      ? undefined
      : { title: 'Ownership is transferred', text: 'The contract will have another owner.', to: after },
  RoleGranted: ([, account]) => ({
    title: 'A role is granted',
    text: 'An account gets rights over the contract.',
    to: account,
  }),
  Upgraded: ([code]) => ({
    title: 'A contract’s code is replaced',
    text: 'The contract will run other code.',
    to: code,
  }),
  AddedOwner: ([owner]) => ({
    title: 'A Safe gains an owner',
    text: 'The new owner can sign for the Safe.',
    to: owner,
  }),
  EnabledModule: ([module]) => ({
    title: 'A Safe gains a module',
    text: 'The module can act as the Safe, without signatures.',
    to: module,
  }),
}

function powerWarning(contract: Address, event: Named | null | undefined): Warning[] {
  if (!event || !Object.hasOwn(POWERS, event.name)) return []
  const power = POWERS[event.name]!(Object.values(event.args))
  return power === undefined
    ? []
    : [
        {
          level: 'caution',
          title: power.title,
          text: power.text,
          addresses: [contract, String(power.to).toLowerCase() as Address],
        },
      ]
}
