import { raisedFees } from './sign.js'

const FAR = 10n ** 9n

describe('raisedFees', () => {
  it('raises both fees by more than 10%, so that a node accepts the replacement', () => {
    const raised = raisedFees(
      { maxFeePerGas: 100n, maxPriorityFeePerGas: 7n },
      { maxFeePerGas: 50n, maxPriorityFeePerGas: 1n },
      FAR,
    )
    expect(raised).toEqual({ maxFeePerGas: 113n, maxPriorityFeePerGas: 8n })
  })

  it('returns the current fees if they rose by more', () => {
    const current = { maxFeePerGas: 900n, maxPriorityFeePerGas: 30n }
    expect(raisedFees({ maxFeePerGas: 100n, maxPriorityFeePerGas: 7n }, current, FAR)).toEqual(current)
  })

  it('stops raising fees while the current fees do not change', () => {
    let fees = { maxFeePerGas: 100n, maxPriorityFeePerGas: 10n }
    const current = fees
    for (let round = 0; round < 100; round++) fees = raisedFees(fees, current, FAR) ?? fees
    expect(fees.maxFeePerGas).toBeLessThan(1_200n)
    expect(raisedFees(fees, current, FAR)).toBeNull()
  })

  it('returns null if the raised fee would exceed the bound', () => {
    const fees = { maxFeePerGas: 100n, maxPriorityFeePerGas: 10n }
    expect(raisedFees(fees, fees, 112n)).toBeNull()
    expect(raisedFees(fees, fees, 113n)).not.toBeNull()
  })
})
