import { createHash } from 'node:crypto'
import { EVMError } from '@ethereumjs/evm'
import { createAddressFromString } from '@ethereumjs/util'
import type { Address, Hash } from '@upfront/protocol'
import type { ExecutedLog, RequestQueue } from '@upfront/simulation'
import { haltOf } from '../evm/halt.js'
import { bytesOf, EMPTY_BYTES, hash32, hexOf } from '../state/bytes.js'
import type { BlockContext } from './block-context.js'
import { CallRejected } from './call-rejected.js'
import { parseDeposit } from './deposit.js'
import type { Machine } from './machine.js'

const SYSTEM_ADDRESS: Address = '0xfffffffffffffffffffffffffffffffffffffffe'
const SYSTEM_GAS = 30_000_000n

/** EIP-4788 */
const BEACON_ROOTS: Address = '0x000f3df6d732807ef1319fb7b8bb8522d0beac02'
/** EIP-2935 */
const HISTORY_STORAGE: Address = '0x0000f90827f1c53a10cb7a02335b175320002935'
const RING_LENGTH = 8_191n
/** EIP-7002 */
const WITHDRAWAL_QUEUE: Address = '0x00000961ef480eb55e80d19ad83579a64c007002'
/** EIP-7251 */
const CONSOLIDATION_QUEUE: Address = '0x0000bbddc7ce488642fb579f8b00f3a590007251'
/** Excess, count, head and tail. */
const QUEUE_SLOTS = [0n, 1n, 2n, 3n]

const REQUEST_TYPE = { deposit: 0, withdrawal: 1, consolidation: 2 } as const
/** keccak256('DepositEvent(bytes,bytes,bytes,bytes,bytes)') */
const DEPOSIT_TOPIC: Hash = '0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5'

/** Accounts and slots that the system calls of a block will read. */
export function systemReads(
  { header }: BlockContext,
  prague: boolean,
): { accounts: Address[]; slots: [Address, Hash][] } {
  const accounts: Address[] = []
  const slots: [Address, Hash][] = []
  if (header.parentBeaconBlockRoot) {
    const slot = header.timestamp % RING_LENGTH
    accounts.push(SYSTEM_ADDRESS, BEACON_ROOTS)
    slots.push([BEACON_ROOTS, hash32(slot)], [BEACON_ROOTS, hash32(slot + RING_LENGTH)])
  }
  if (prague) {
    accounts.push(HISTORY_STORAGE)
    slots.push([HISTORY_STORAGE, hash32((header.number - 1n) % RING_LENGTH)])
    for (const queue of [WITHDRAWAL_QUEUE, CONSOLIDATION_QUEUE]) {
      accounts.push(queue)
      slots.push(...QUEUE_SLOTS.map((slot): [Address, Hash] => [queue, hash32(slot)]))
    }
  }
  return { accounts, slots }
}

/** Before the calls of a block: EIP-4788 and EIP-2935. These EIPs ignore failures. */
export async function runPreExecutionCalls(machine: Machine, context: BlockContext, prague: boolean): Promise<void> {
  const { parentBeaconBlockRoot, parentHash } = context.header
  if (parentBeaconBlockRoot) await systemCall(machine, context, BEACON_ROOTS, bytesOf(parentBeaconBlockRoot))
  if (prague) await systemCall(machine, context, HISTORY_STORAGE, bytesOf(parentHash))
}

/** After the calls: the EIP-7685 hash of the deposits in `logs` (EIP-6110) and of both queues. */
export async function collectRequests(
  machine: Machine,
  context: BlockContext,
  logs: readonly ExecutedLog[],
  depositContract: Address | undefined,
): Promise<Hash> {
  const deposits = logs
    .filter(({ address, topics }) => address === depositContract && topics[0] === DEPOSIT_TOPIC)
    .map(({ data }) => parseDeposit(bytesOf(data)))
  const requests = [
    { type: REQUEST_TYPE.deposit, data: Buffer.concat(deposits) },
    { type: REQUEST_TYPE.withdrawal, data: await dequeue(machine, context, WITHDRAWAL_QUEUE, 'withdrawal') },
    { type: REQUEST_TYPE.consolidation, data: await dequeue(machine, context, CONSOLIDATION_QUEUE, 'consolidation') },
  ]
  const hash = createHash('sha256')
  for (const { type, data } of requests) {
    if (data.length > 0) hash.update(createHash('sha256').update(Uint8Array.of(type)).update(data).digest())
  }
  return hexOf(hash.digest())
}

async function dequeue(
  machine: Machine,
  context: BlockContext,
  queue: Address,
  name: RequestQueue,
): Promise<Uint8Array> {
  const { code } = await machine.world.account(queue)
  // geth refuses such a block, but development chains (anvil) have none of these contracts.
  if (code.length === 0) return EMPTY_BYTES
  const result = await systemCall(machine, context, queue, EMPTY_BYTES)
  const { exceptionError, returnValue } = result
  if (exceptionError === undefined) return returnValue
  const hasReverted = exceptionError.error === EVMError.errorMessages.REVERT
  throw new CallRejected({
    kind: 'requestQueue',
    queue: name,
    ...(!hasReverted && { halt: haltOf(result, { fork: machine.evm.fork }) }),
  })
}

async function systemCall({ evm, world, journal }: Machine, context: BlockContext, to: Address, data: Uint8Array) {
  journal.cleanJournal()
  journal.warm(to)
  const { execResult } = await evm.runCall({
    block: context.evmBlock,
    caller: createAddressFromString(SYSTEM_ADDRESS),
    to: createAddressFromString(to),
    gasLimit: SYSTEM_GAS,
    gasPrice: 0n,
    value: 0n,
    data,
    skipNonceIncrement: true,
  })
  world.finalise()
  return execResult
}
