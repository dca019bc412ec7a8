import type { Address, Hash } from '@upfront/protocol'
import {
  type AccountFacts,
  type CallRecord,
  type ChainRules,
  isForkActive,
  type RecordedAccount,
} from '@upfront/simulation'
import { creationAddress } from '../evm/creation-address.js'
import { Recorder } from '../evm/recorder.js'
import { RecordingEvm } from '../evm/recording-evm.js'
import { type AccountRecord, codeHash, delegationTarget, MAX_NONCE } from '../state/account-record.js'
import { hexOf } from '../state/bytes.js'
import type { WorldState } from '../state/world-state.js'
import { recoverAuthority } from './authorizations.js'
import type { BlockContext } from './block-context.js'
import type { Machine } from './machine.js'
import type { ReadyCall } from './ready-call.js'

const ACCOUNT_BYTES = 256
const SLOT_BYTES = 160

/** A call that is being recorded. */
export interface Recorded {
  recorder: Recorder
  /** Accounts that the transaction touches anyhow: its access list never names them for themselves. */
  unlisted: Set<Address>
}

/** Before the call runs; undefined where nothing is recorded. */
export async function beginRecord(
  machine: Machine,
  { header }: BlockContext,
  { rules, recording, answerBytes }: { rules: ChainRules; recording: Recorder['recording']; answerBytes: number },
  { call, nonce }: ReadyCall,
): Promise<Recorded | undefined> {
  const { evm, world } = machine
  if (!(evm instanceof RecordingEvm)) return undefined
  const recorder = new Recorder(recording, machine.recordBytes, answerBytes)
  evm.recorder = recorder
  const authorities = (call.authorizationList ?? []).flatMap((authorization) => {
    const authority = recoverAuthority(authorization)
    const isHere = authorization.chainId === 0n || authorization.chainId === rules.chainId
    return authority ? [{ authority, isValid: isHere && authorization.nonce < MAX_NONCE }] : []
  })
  const valid = authorities.filter(({ isValid }) => isValid).map(({ authority }) => authority)
  const unlisted = new Set([
    call.from,
    call.to ?? creationAddress(call.from, nonce),
    ...evm.precompileAddresses,
    ...valid,
  ])
  if (recording.state) {
    // By the account's nonce, whatever the call says.
    const to = call.to ?? creationAddress(call.from, (await world.account(call.from)).nonce)
    if (call.to === null) recorder.created.add(to)
    const target = isForkActive(evm.fork, 'prague') ? delegationTarget((await world.account(to)).code) : undefined
    // geth asks the transaction, which with a gas price is a legacy one.
    const signed = call.type === 4 ? authorities.map(({ authority }) => authority) : []
    const named = [call.from, to, header.miner, ...signed]
    for (const address of target ? [...named, target] : named) recorder.name(address, { isRead: true })
    for (const { address, storageKeys } of call.accessList) {
      if (unlisted.has(address)) continue
      recorder.name(address, { isAccessed: true })
      for (const slot of storageKeys) recorder.nameSlot(address, slot, { isAccessed: true })
    }
  }
  return { recorder, unlisted }
}

/** After the call ran. @param finalise ends the transaction in the state */
export async function endRecord(
  machine: Machine,
  { recorder, unlisted }: Recorded,
  { gas, call }: ReadyCall,
  gasUsed: bigint,
  finalise: () => void,
): Promise<CallRecord> {
  const { world, evm } = machine
  if (evm instanceof RecordingEvm) evm.recorder = undefined
  if (recorder.recording.frames && recorder.frames.length === 0) {
    // A creation for which its creator has no nonce left did not come so far.
    const { from, input, value } = call
    recorder.enter({ kind: 'CREATE', from, input, gas, value, isPrecompile: false })
    recorder.exit({ gasUsed: 0n, output: '0x', halt: { kind: 'nonceOverflow' } })
  }
  const before = world.beforeTransaction()
  finalise()
  const accounts = recorder.recording.state ? await recordedAccounts(world, before, recorder, unlisted) : []
  machine.recordBytes = recorder.left
  const { frames, steps, uses } = recorder
  return {
    gas,
    gasUsed,
    frames,
    accounts,
    probed: [],
    probeGas: 0n,
    steps: steps?.steps ?? [],
    haltedSteps: steps?.halted ?? [],
    preimages: uses?.preimages() ?? [],
  }
}

type Before = ReturnType<WorldState['beforeTransaction']>

async function recordedAccounts(
  world: WorldState,
  before: Before,
  recorder: Recorder,
  unlisted: ReadonlySet<Address>,
): Promise<RecordedAccount[]> {
  const recorded: RecordedAccount[] = []
  const addresses = new Set([
    ...recorder.accounts.keys(),
    ...recorder.slots.keys(),
    ...before.accounts.keys(),
    ...before.slots.keys(),
  ])
  for (const address of addresses) {
    const now = await world.account(address)
    const old = before.accounts.get(address) ?? now
    const named = recorder.accounts.get(address)
    const account: RecordedAccount = {
      address,
      isRead: named?.isRead ?? false,
      isAccessed: named?.isAccessed === true && !unlisted.has(address),
      isRemoved: recorder.removed.has(address),
      before: factsOf(old, true),
      after: factsOf(now, now.code !== old.code),
      slots: [],
    }
    recorder.take(ACCOUNT_BYTES + old.code.length + (now.code === old.code ? 0 : now.code.length))
    const slots = new Set<Hash>([
      ...(recorder.slots.get(address)?.keys() ?? []),
      ...(before.slots.get(address)?.keys() ?? []),
    ])
    for (const slot of slots) {
      const value = await world.slot(address, slot)
      const old = before.slots.get(address)?.get(slot) ?? value
      const naming = recorder.slots.get(address)?.get(slot)
      if (naming === undefined && old === value) continue
      recorder.take(SLOT_BYTES)
      account.slots.push({
        slot,
        isRead: naming?.isRead ?? false,
        isAccessed: naming?.isAccessed ?? false,
        before: old,
        after: value,
      })
    }
    recorded.push(account)
  }
  return recorded
}

function factsOf({ exists, balance, nonce, code }: AccountRecord, withCode: boolean): AccountFacts {
  return { exists, balance, nonce, codeHash: hexOf(codeHash(code)), ...(withCode && { code: hexOf(code) }) }
}
