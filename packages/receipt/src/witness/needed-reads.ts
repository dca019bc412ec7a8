import type { Address } from '@upfront/protocol'
import { planSimulation, type Simulation, type StateRead, type TouchedList } from '@upfront/simulation'

/** Accounts that a block's own rules read, independent of its calls. */
const SYSTEM: ReadonlySet<string> = new Set([
  // The sender of system calls.
  '0xfffffffffffffffffffffffffffffffffffffffe',
  // EIP-4788, EIP-2935, EIP-7002, EIP-7251
  '0x000f3df6d732807ef1319fb7b8bb8522d0beac02',
  '0x0000f90827f1c53a10cb7a02335b175320002935',
  '0x00000961ef480eb55e80d19ad83579a64c007002',
  '0x0000bbddc7ce488642fb579f8b00f3a590007251',
  // OP-stack chains: L1Block, L2ToL1MessagePasser, the vaults of sequencer, base, L1 and operator fees.
  ...['15', '16', '11', '19', '1a', '1b'].map((end) => `0x42${'0'.repeat(36)}${end}`),
])
/**
 * Slots per block: EIP-4788 uses two, EIP-2935 one; the queue of EIP-7002 four and three per request (up to 16), EIP-7251's four and four
 * per request (up to two); L1Block eight.
 */
const SYSTEM_SLOTS_PER_BLOCK = 80
/** 0x01 to 0x1f, and EIP-7951. */
const PRECOMPILE = /^0x0{37}(?:0[01].|100)$/

/**
 * Selects the reads that belong in a witness: those of touched state and of the blocks' own rules. A witness is priced by its size, so it
 * contains nothing else. Block hashes are not checked here.
 */
export function neededReads(
  reads: Iterable<StateRead>,
  touched: TouchedList,
  { request, base, rules, limits, opening }: Pick<Simulation, 'request' | 'base' | 'rules' | 'limits' | 'opening'>,
): StateRead[] {
  const { blocks } = planSimulation(request, base, rules, limits, opening)
  const named = blocks.flatMap(({ feeRecipient, withdrawals, stateOverrides }) => [
    feeRecipient,
    ...withdrawals.map(({ address }) => address),
    ...stateOverrides.flatMap(({ address, movePrecompileToAddress }) => [address, movePrecompileToAddress ?? address]),
  ])
  const accounts = new Set<Address>([...touched.accounts, ...touched.slots.map(({ address }) => address), ...named])
  const slots = new Set(touched.slots.map(({ address, slot }) => address + slot))
  let systemSlots = SYSTEM_SLOTS_PER_BLOCK * blocks.length
  return [...reads].filter((read) => {
    if (read.kind === 'blockHash') return true
    const { address } = read
    if (read.kind !== 'storage') return accounts.has(address) || SYSTEM.has(address) || PRECOMPILE.test(address)
    return slots.has(address + read.slot) || (SYSTEM.has(address) && systemSlots-- > 0)
  })
}
