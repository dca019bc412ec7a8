import type { Address, StateOverride } from '@upfront/protocol'
import { SimulationEvm } from '../evm/simulation-evm.js'
import { WorldState } from '../state/world-state.js'
import { applyStateOverrides } from './state-overrides.js'

const at = (number: number): Address => `0x${number.toString(16).padStart(40, '0')}`
const ELSEWHERE = at(0x123456)

function apply(...overrides: StateOverride[]) {
  const precompiles = new SimulationEvm(1n, 'osaka').activePrecompiles()
  const identity = precompiles.get(at(4))
  applyStateOverrides(overrides, new WorldState(async () => []), precompiles)
  return { precompiles, identity }
}

describe('applyStateOverrides', () => {
  it('moves a precompile', () => {
    const { precompiles, identity } = apply({ address: at(4), movePrecompileToAddress: ELSEWHERE })
    expect(precompiles.has(at(4))).toBe(false)
    expect(precompiles.get(ELSEWHERE)).toBe(identity)
  })

  it('takes a precompile away by any override', () => {
    expect(apply({ address: at(4), balance: 1n }).precompiles.has(at(4))).toBe(false)
  })

  it('lets two move to one place, the second stays, as in geth', () => {
    const { precompiles, identity } = apply(
      { address: at(2), movePrecompileToAddress: ELSEWHERE },
      { address: at(4), movePrecompileToAddress: ELSEWHERE },
    )
    expect(precompiles.get(ELSEWHERE)).toBe(identity)
  })

  it.each([
    [
      'no precompile',
      [{ address: ELSEWHERE, movePrecompileToAddress: at(0x99) }],
      { kind: 'notPrecompile', address: ELSEWHERE },
    ],
    ['itself', [{ address: at(4), movePrecompileToAddress: at(4) }], { kind: 'alreadyOverridden', address: at(4) }],
    [
      'an overridden account',
      [
        { address: at(4), movePrecompileToAddress: at(5) },
        { address: at(5), nonce: 1n },
      ],
      { kind: 'alreadyOverridden', address: at(5) },
    ],
  ])('refuses to move %s', (_name, overrides, rejection) => {
    expect(() => apply(...overrides)).toThrow(expect.objectContaining({ rejection }))
  })
})
