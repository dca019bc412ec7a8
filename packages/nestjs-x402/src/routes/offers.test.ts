import { gasSponsoringOf } from './offers.js'

const TOKEN = `0x${'aB'.repeat(20)}`
const [PERMIT, APPROVAL] = ['eip2612GasSponsoring', 'erc20ApprovalGasSponsoring']

it.each([
  ['what the facilitator says of the token', { [TOKEN.toLowerCase()]: PERMIT }, [APPROVAL], PERMIT],
  ['nothing where it names other tokens', { [`0x${'cd'.repeat(20)}`]: PERMIT }, [PERMIT], undefined],
  ['nothing where it names what is not known', { [TOKEN.toLowerCase()]: 'another' }, [PERMIT], undefined],
  ['the first that it serves where it says nothing of tokens', undefined, ['another', APPROVAL, PERMIT], PERMIT],
  ['nothing where it serves none', undefined, undefined, undefined],
])('offers %s', (_, gasSponsoring, extensions, expected) => {
  const extra = gasSponsoring === undefined ? {} : { gasSponsoring }
  expect(gasSponsoringOf(TOKEN, { extra }, extensions)).toBe(expected)
})
