import type { CallOutcome } from './answer.js'
import { holdingOf } from './holding.js'

const said = (...outcomes: CallOutcome[]) => holdingOf(outcomes.map((outcome) => ({ outcome })))
const later = { fact: { kind: 'time' }, under: 'one block later', effect: 'fails' }

it('shows nothing for a call without an outcome', () => {
  expect(holdingOf([{}])).toBeUndefined()
})

it('marks an outcome that holds as good', () => {
  expect(said({ verdict: 'holds', because: [] })?.level).toBe('good')
})

it('lists each circumstance that changes a call once', () => {
  const changed: CallOutcome = { verdict: 'changes', because: [later, { ...later, fact: { kind: 'number' } }] }
  expect(said({ verdict: 'holds', because: [] }, changed)).toEqual({
    level: 'caution',
    text: 'Changes if: one block later (fails).',
  })
})

it('shows first that a call behaves differently when it is watched', () => {
  const because = [{ fact: { kind: 'coinbase' }, under: 'another fee recipient', effect: 'fails' }]
  expect(said({ verdict: 'changes', because: [later] }, { verdict: 'watched', because })).toEqual({
    level: 'bad',
    text: 'Behaves differently in a simulation: it looks at the block’s producer. Under another fee recipient: fails.',
  })
})
