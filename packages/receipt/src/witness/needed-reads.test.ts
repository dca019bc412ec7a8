import { COUNTER, developmentState, NOBODY, RICH } from '@upfront/engine-conformance'
import { type Address, DEFAULT_SIMULATION_LIMITS, decodeSimulationRequest, type Hash } from '@upfront/protocol'
import type { StateRead } from '@upfront/simulation'
import { neededReads } from './needed-reads.js'

const HISTORY: Address = '0x0000f90827f1c53a10cb7a02335b175320002935'
const PAYEE: Address = `0x${'fe'.repeat(20)}`
const OVERRIDDEN: Address = `0x${'0e'.repeat(20)}`
const WITHDRAWER: Address = `0x${'0d'.repeat(20)}`
const SHA256: Address = `0x${'2'.padStart(40, '0')}`

const slot = (number: number): Hash => `0x${number.toString(16).padStart(64, '0')}`
const balance = (address: Address): StateRead => ({ kind: 'balance', address })
const storage = (address: Address, number: number): StateRead => ({ kind: 'storage', address, slot: slot(number) })

const touched = { accounts: [RICH, COUNTER], slots: [{ address: COUNTER, slot: slot(0) }] }
const payload = {
  blockStateCalls: [
    {
      blockOverrides: {
        time: '0x1a00',
        feeRecipient: PAYEE,
        withdrawals: [{ index: '0x0', validatorIndex: '0x0', address: WITHDRAWER, amount: '0x1' }],
      },
      stateOverrides: { [OVERRIDDEN]: { nonce: '0x1' } },
      calls: [{ from: RICH, to: COUNTER }],
    },
  ],
}

function needed(reads: StateRead[]): StateRead[] {
  const { rules, base } = developmentState()
  const request = decodeSimulationRequest([payload, 'latest'], DEFAULT_SIMULATION_LIMITS)
  return neededReads(reads, touched, { request, base, rules, limits: DEFAULT_SIMULATION_LIMITS, opening: undefined })
}

it.each<[string, StateRead]>([
  ['an account that was touched', balance(RICH)],
  ['a slot that was touched', storage(COUNTER, 0)],
  ['the fee recipient', balance(PAYEE)],
  ['an account that is overridden', balance(OVERRIDDEN)],
  ['an account that withdraws', balance(WITHDRAWER)],
  ['a precompile', balance(SHA256)],
  ['a system contract', balance(HISTORY)],
  ['a slot of a system contract', storage(HISTORY, 7)],
  ['a block hash', { kind: 'blockHash', number: 1n }],
])('%s is needed', (_what, read) => {
  expect(needed([read])).toEqual([read])
})

it.each<[string, StateRead]>([
  ['an account that was not touched', balance(NOBODY)],
  ['another slot of a contract that was touched', storage(COUNTER, 1)],
  ['a slot of an account that the request names', storage(OVERRIDDEN, 0)],
  ['an address above the precompiles', balance(`0x${'101'.padStart(40, '0')}`)],
])('%s is not needed', (_what, read) => {
  expect(needed([read])).toEqual([])
})

it('the first 80 slots of a system contract are needed, as many as a block can read', () => {
  const reads = Array.from({ length: 100 }, (_, number) => storage(HISTORY, number))
  expect(needed(reads)).toEqual(reads.slice(0, 80))
})
