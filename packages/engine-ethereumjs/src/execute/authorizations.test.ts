import { eoaCode7702SignAuthorization, hexToBytes, privateToAddress } from '@ethereumjs/util'
import { type Address, type Authorization, type Hex, ZERO_ADDRESS } from '@upfront/protocol'
import { AccessJournal } from '../state/access-journal.js'
import { hexOf } from '../state/bytes.js'
import { WorldState } from '../state/world-state.js'
import { applyAuthorizations, recoverAuthority } from './authorizations.js'

const KEY = hexToBytes(`0x${'42'.repeat(32)}`)
const AUTHORITY: Address = hexOf(privateToAddress(KEY))
const TARGET: Address = `0x${'c1'.repeat(20)}`
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

function signed(chainId = 1, nonce = 0, address: Address = TARGET): Authorization {
  const bytes = (number: number): Hex => (number === 0 ? '0x' : `0x${number.toString(16).padStart(2, '0')}`)
  const [, , , yParity, r, s] = eoaCode7702SignAuthorization(
    { chainId: bytes(chainId), address, nonce: bytes(nonce) },
    KEY,
  )
  const quantity = (value: Uint8Array) => BigInt(hexOf(value) === '0x' ? 0 : hexOf(value))
  return {
    chainId: BigInt(chainId),
    address,
    nonce: BigInt(nonce),
    yParity: quantity(yParity),
    r: quantity(r),
    s: quantity(s),
  }
}

/** Nobody is anybody, but for what the overrides say. */
async function apply(authorizations: Authorization[], overrides: { code?: Hex; balance?: bigint } = {}) {
  const world = new WorldState(async (reads) => reads.map(({ kind }) => (kind === 'code' ? '0x' : 0n)))
  if (Object.keys(overrides).length > 0) world.override({ address: AUTHORITY, ...overrides })
  const journal = new AccessJournal(world)
  const authorities: Address[] = []
  const refund = await applyAuthorizations(authorizations, 1n, world, journal, (authority) =>
    authorities.push(authority),
  )
  const { code, nonce } = await world.account(AUTHORITY)
  return { refund, authorities, code: hexOf(code), nonce }
}

describe('recoverAuthority', () => {
  it('finds who signed', () => {
    expect(recoverAuthority(signed())).toBe(AUTHORITY)
  })

  it.each<[string, Partial<Authorization>]>([
    ['a high s', { s: ORDER - signed().s }],
    ['an s of zero', { s: 0n }],
    ['an r of zero', { r: 0n }],
    ['an r beyond the curve', { r: ORDER }],
    ['a parity of two', { yParity: 2n }],
  ])('takes no signature with %s', (_name, change) => {
    expect(recoverAuthority({ ...signed(), ...change })).toBeUndefined()
  })
})

describe('applyAuthorizations', () => {
  it('delegates, and refunds what a new account would have cost where there was one', async () => {
    const delegated = { authorities: [AUTHORITY], code: `0xef0100${TARGET.slice(2)}`, nonce: 1n }
    expect(await apply([signed()])).toEqual({ ...delegated, refund: 0n })
    expect(await apply([signed()], { balance: 1n })).toEqual({ ...delegated, refund: 12_500n })
  })

  it('holds on any chain with chain id 0', async () => {
    expect((await apply([signed(0)])).nonce).toBe(1n)
  })

  it('clears a delegation by the zero address', async () => {
    const { code, nonce } = await apply([signed(), signed(1, 1, ZERO_ADDRESS)])
    expect({ code, nonce }).toEqual({ code: '0x', nonce: 2n })
  })

  it.each<[string, Authorization, object]>([
    ['another chain', signed(2), {}],
    ['another nonce', signed(1, 5), {}],
    ['a contract', signed(), { code: '0x00' }],
  ])('passes over those of %s', async (_name, authorization, overrides) => {
    expect(await apply([authorization], overrides)).toMatchObject({ nonce: 0n, refund: 0n })
  })
})
