import { raisedFees } from './sign.js'

describe('raisedFees', () => {
  it('offers at least a tenth more, so that a node takes the replacement', () => {
    const raised = raisedFees(
      { maxFeePerGas: 100n, maxPriorityFeePerGas: 7n },
      { maxFeePerGas: 50n, maxPriorityFeePerGas: 1n },
    )
    expect(raised).toEqual({ maxFeePerGas: 113n, maxPriorityFeePerGas: 8n })
  })

  it('follows a base fee that rose by more', () => {
    const current = { maxFeePerGas: 900n, maxPriorityFeePerGas: 30n }
    expect(raisedFees({ maxFeePerGas: 100n, maxPriorityFeePerGas: 7n }, current)).toEqual(current)
  })

  it('does not outbid without end a chain that stands still', () => {
    let fees = { maxFeePerGas: 100n, maxPriorityFeePerGas: 10n }
    const current = fees
    for (let round = 0; round < 100; round++) fees = raisedFees(fees, current) ?? fees
    expect(fees.maxFeePerGas).toBeLessThan(1_200n)
    expect(raisedFees(fees, current)).toBeNull()
  })

  it('does not go above a bound', () => {
    const fees = { maxFeePerGas: 100n, maxPriorityFeePerGas: 10n }
    expect(raisedFees(fees, fees, 112n)).toBeNull()
    expect(raisedFees(fees, fees, 113n)).not.toBeNull()
  })
})
