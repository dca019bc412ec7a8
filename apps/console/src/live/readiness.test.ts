import { ageText, verifiedText } from './readiness.js'

const recent = [{ hash: '0x1', carried: true }, { hash: '0x2', carried: false, reason: 'tooSlow' }, { hash: '0x3' }]
const report = { following: { ageMs: 90, trusted: true, recent }, preconfirmed: { connected: false, ageMs: 12 } }

it('ageText shows the age of the head and of pending, and why state is not carried', () => {
  expect(ageText(report)).toBe('the head is 90 ms old, pending is 12 ms old, the stream is not connected')
  expect(ageText({})).toBe('')
  expect(ageText({ following: { ageMs: 5, trusted: true, recent: [], carrying: { not: 'CARRY_STATE is off' } } })).toBe(
    'the head is 5 ms old, state is not carried: CARRY_STATE is off',
  )
})

it.each([
  ['0x1', false, 'verified, carried'],
  ['0x2', false, 'not carried: tooSlow'],
  ['0x3', false, ''],
  ['0x4', false, ''],
  ['0x1', true, 'verified'],
])('verifiedText for block %s, flashblock %s, is %j', (hash, isFlashblock, text) =>
  expect(verifiedText(hash, isFlashblock, report)).toBe(text),
)
