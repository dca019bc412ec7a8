import type { BlockRules } from '../plan/chain-rules.js'
import { blobBaseFee, GAS_PER_BLOB, nextExcessBlobGas } from './blob-gas.js'

const blob = { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n }
const PRAGUE: BlockRules = { fork: 'prague', blob }
const OSAKA: BlockRules = { fork: 'osaka', blob }

describe('nextExcessBlobGas', () => {
  const parent = (excess: bigint, used: bigint, baseFeePerGas = 7n) => ({
    excessBlobGas: excess * GAS_PER_BLOB,
    blobGasUsed: used * GAS_PER_BLOB,
    baseFeePerGas,
  })

  it('adds what the parent used above the target', () => {
    expect(nextExcessBlobGas(parent(0n, 9n), PRAGUE)).toBe(3n * GAS_PER_BLOB)
    expect(nextExcessBlobGas(parent(2n, 3n), PRAGUE)).toBe(0n)
    expect(nextExcessBlobGas(parent(10n, 6n), PRAGUE)).toBe(10n * GAS_PER_BLOB)
  })

  it('follows EIP-7918 from Osaka on while execution costs more than blobs', () => {
    expect(nextExcessBlobGas(parent(10n, 3n, 1_000_000_000n), OSAKA)).toBe(11n * GAS_PER_BLOB)
    expect(nextExcessBlobGas(parent(10n, 3n, 1_000_000_000n), PRAGUE)).toBe(7n * GAS_PER_BLOB)
    expect(nextExcessBlobGas(parent(10n, 3n, 1n), OSAKA)).toBe(7n * GAS_PER_BLOB)
  })

  it('is zero before Cancun and on OP-stack chains', () => {
    expect(nextExcessBlobGas({ baseFeePerGas: 7n }, PRAGUE)).toBe(0n)
    expect(nextExcessBlobGas(parent(50n, 9n), { fork: 'prague', opFork: 'isthmus' })).toBe(0n)
    expect(nextExcessBlobGas(parent(50n, 9n), { fork: 'shanghai' })).toBe(0n)
  })
})

describe('blobBaseFee', () => {
  // EIP-4844's own examples of fake_exponential with factor 1.
  it.each([
    [0n, 1n],
    [2_314_057n, 1n],
    [2_314_058n, 2n],
    [10n * 1024n * 1024n, 23n],
  ])('excess %s costs %s wei', (excess, fee) => {
    expect(blobBaseFee(excess, 3_338_477n)).toBe(fee)
  })

  it('saturates at 2^256 - 1 and terminates, whatever the excess', () => {
    expect(blobBaseFee(2n ** 64n - 1n, 1n)).toBe(2n ** 256n - 1n)
    expect(blobBaseFee(178n * 3_338_477n, 3_338_477n)).toBe(2n ** 256n - 1n)
    expect(blobBaseFee(177n * 3_338_477n, 3_338_477n)).toBeLessThan(2n ** 256n - 1n)
  })
})
