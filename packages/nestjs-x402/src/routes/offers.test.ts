import { isGasSponsored } from './offers.js'

const TOKEN = `0x${'aB'.repeat(20)}`
const [PERMIT, APPROVAL] = ['eip2612GasSponsoring', 'erc20ApprovalGasSponsoring']

it.each([
  ['what the facilitator says of the token', { [TOKEN.toLowerCase()]: PERMIT }, [APPROVAL], true],
  ['nothing where it names other tokens', { [`0x${'cd'.repeat(20)}`]: PERMIT }, [PERMIT], false],
  ['nothing where it names what is not known', { [TOKEN.toLowerCase()]: 'another' }, [PERMIT], false],
  ['a permit where it says nothing of tokens, and serves that', undefined, ['another', APPROVAL, PERMIT], true],
  ['nothing where it serves none', undefined, undefined, false],
])('isGasSponsored offers %s', (_, gasSponsoring, extensions, expected) => {
  const extra = gasSponsoring === undefined ? {} : { gasSponsoring }
  expect(isGasSponsored(TOKEN, { extra }, extensions)).toBe(expected)
})
