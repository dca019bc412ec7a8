import type { Hex } from '@upfront/protocol'
import { type ChangedFact, type Explained, type Explanation, partsOf } from './explanation.js'
import type { Result } from './run.js'

/** Values to override in a run, as in a block of `upfront_simulate`. */
export interface Found {
  stateOverrides: Record<string, { balance?: Hex; stateDiff?: Record<string, Hex> }>
  blockOverrides: Record<string, Hex>
}

/** Most facts that are tried alone. */
const MAX_ALONE = 3
const BLOCK_FIELDS: Record<string, string> = {
  time: 'time',
  number: 'number',
  coinbase: 'feeRecipient',
  prevRandao: 'prevRandao',
  gasLimit: 'gasLimit',
  baseFee: 'baseFeePerGas',
  blobBaseFee: 'blobBaseFee',
}

/**
 * Checks whether the changed facts caused the miss: repeats the prediction with only the values found overridden.
 * @param again repeats the prediction with overrides
 */
export async function proofOf(
  { because, changed }: Explained,
  mined: Result,
  again: (found: Found) => Promise<Result>,
): Promise<NonNullable<Explanation['proof']>> {
  const isCause = async (facts: readonly ChangedFact[]) => {
    const result = await again(foundIn(facts)).catch(() => undefined)
    return result !== undefined && partsOf(result, mined).differs.length === 0
  }
  for (const fact of because.slice(0, MAX_ALONE)) if (await isCause([fact])) return 'alone'
  return (await isCause(changed)) ? 'together' : 'neither'
}

function foundIn(facts: readonly ChangedFact[]): Found {
  const stateOverrides: Found['stateOverrides'] = {}
  const blockOverrides: Found['blockOverrides'] = {}
  for (const { fact, found } of facts) {
    const { kind, address, slot } = fact
    const field = BLOCK_FIELDS[kind]
    if (field !== undefined) blockOverrides[field] = sized(found, kind)
    if (address === undefined) continue
    stateOverrides[address] ??= {}
    const override = stateOverrides[address]
    if (kind === 'balance') override.balance = found
    if (kind === 'slot') override.stateDiff = { ...override.stateDiff, [slot!]: padded(found, 64) }
  }
  return { stateOverrides, blockOverrides }
}

function sized(found: Hex, kind: string): Hex {
  return kind === 'coinbase' ? padded(found, 40) : kind === 'prevRandao' ? padded(found, 64) : found
}

function padded(value: Hex, digits: number): Hex {
  return `0x${value.slice(2).padStart(digits, '0')}`
}
