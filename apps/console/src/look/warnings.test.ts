import { privateKeyToAccount } from 'viem/accounts'
import type { SimulatePayload } from '../request/payload.js'
import type { SimulatedCall } from './answer.js'
import type { AssetChanges } from './assets.js'
import { delegationsOf, delegationWarnings, warningsOf } from './warnings.js'

const ME = '0x00000000000000000000000000000000000a11ce'
const BOB = '0x0000000000000000000000000000000000000b0b'
const NOBODY = `0x${'0'.repeat(40)}` as const
const changes: AssetChanges = { transfers: [], balances: [], owners: [], approvals: [] }
const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const payloadWith = (...authorizationList: object[]): SimulatePayload => ({
  blockStateCalls: [{ calls: [{}, { authorizationList }] }],
  traceTransfers: true,
})

describe('EIP-7702 delegations', () => {
  it('are shown with their signer and code, from the RPC’s and viem’s encodings', async () => {
    const { chainId, nonce, r, s, yParity } = await account.signAuthorization({ address: BOB, chainId: 0, nonce: 1 })
    const rpc = { address: BOB, chainId: '0x0', nonce: '0x1', r, s, yParity: yParity === 0 ? '0x0' : '0x1' }
    const authority = account.address
    for (const entry of [rpc, { address: BOB, chainId, nonce, r, s, yParity }])
      expect(await delegationsOf(payloadWith(entry))).toEqual([{ authority, code: BOB }])
    expect(await delegationsOf(payloadWith({ address: BOB, authority: ME }))).toEqual([{ authority: ME, code: BOB }])
    expect(await delegationsOf(payloadWith({ ...rpc, r: '0x0' }))).toEqual([{ authority: undefined, code: BOB }])
  })

  it('are a danger, and revoking one is a caution', () => {
    const [danger, end] = delegationWarnings([
      { authority: ME, code: BOB },
      { authority: ME, code: NOBODY },
    ])
    expect([danger, end]).toMatchObject([
      { level: 'danger', addresses: [ME, BOB] },
      { level: 'caution', title: 'Ends a delegation' },
    ])
  })
})

it('warns of unlimited allowances of the signer only', () => {
  const token = { type: 'erc20', address: BOB, symbol: 'WETH' } as const
  const approval = { token, spender: BOB, amount: `0x${'f'.repeat(64)}`, confirmation: 'agrees' } as const
  const approvals = [
    { ...approval, owner: ME },
    { ...approval, owner: NOBODY },
  ] as const
  const warnings = warningsOf([], { ...changes, approvals: [...approvals] }, ME)
  expect(warnings).toMatchObject([{ level: 'caution', title: 'An unlimited allowance: all WETH', addresses: [BOB] }])
})

it('warns of transferred ownership, but not of a contract’s first owner', () => {
  const event = (previousOwner: string) => ({ name: 'OwnershipTransferred', args: { previousOwner, newOwner: BOB } })
  const call = {
    logs: [ME, ME].map((address) => ({ address, topics: [], data: '0x' })),
    decoded: { logs: [event(NOBODY), event(ME)] },
  } as unknown as SimulatedCall
  expect(warningsOf([call], changes, ME)).toMatchObject([{ title: 'Ownership is transferred', addresses: [ME, BOB] }])
})
