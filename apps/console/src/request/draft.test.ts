import { parseEther, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type Draft, DraftError, draftFrom, draftOfFragment, EMPTY_CALL, fragmentOf, payloadOf } from './draft.js'

const ALICE = '0x00000000000000000000000000000000000a11ce'
const BOB = '0x0000000000000000000000000000000000000b0b'

const draftOf = (call: object, overrides = ''): Draft => ({ calls: [{ ...EMPTY_CALL, ...call }], overrides })
const callOf = (draft: Draft) => payloadOf(draft).blockStateCalls[0].calls[0]

describe('payloadOf', () => {
  it('leaves out what is empty', () => {
    expect(payloadOf(draftOf({ to: BOB }))).toEqual({
      blockStateCalls: [{ calls: [{ to: BOB }] }],
      traceTransfers: true,
    })
  })

  it('takes ether as a decimal and wei as hex', () => {
    expect(callOf(draftOf({ value: '0.01' }))).toEqual({ value: toHex(parseEther('0.01')) })
    expect(callOf(draftOf({ value: '0x01' }))).toEqual({ value: '0x1' })
  })

  it('encodes a function with its arguments', () => {
    const data = `transfer(address to, uint256 amount) ["${BOB}", "1"]`
    expect(callOf(draftOf({ data }))?.input).toBe(`0xa9059cbb${BOB.slice(2).padStart(64, '0')}${'1'.padStart(64, '0')}`)
    expect(callOf(draftOf({ data: 'totalSupply()' }))?.input).toBe('0x18160ddd')
  })

  it('passes state overrides on', () => {
    expect(payloadOf(draftOf({}, `{"${ALICE}": {"balance": "0x1"}}`)).blockStateCalls[0].stateOverrides).toEqual({
      [ALICE]: { balance: '0x1' },
    })
  })

  it.each([
    [{ from: '0x12' }, '', 'Call 1, from: not an address of 20 bytes'],
    [{ value: '1,5' }, '', 'Call 1, value: neither ether, as 0.01, nor wei, as 0x1'],
    [{ data: '0x123' }, '', 'Call 1, data: neither 0x-hex nor a function'],
    [{ data: 'transfer(address,uint256) ["0x1"]' }, '', 'Call 1, data: '],
    [{ data: 'f(uint256) [1' }, '', 'Call 1, data: '],
    [{}, '{', 'State overrides: not JSON'],
    [{}, '[]', 'State overrides: not an object'],
  ])('names the field that is wrong: %j %s', (call, overrides, message) => {
    expect(() => payloadOf(draftOf(call, overrides))).toThrow(DraftError)
    expect(() => payloadOf(draftOf(call, overrides))).toThrow(message)
  })
})

describe('draftFrom', () => {
  it('reads a signed transaction, and who signed it', async () => {
    const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)
    const fees = { type: 'eip1559', chainId: 1, gas: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n } as const
    const signed = await account.signTransaction({ ...fees, nonce: 7, to: BOB, value: 5n })
    expect(await draftFrom(` ${signed}\n`)).toEqual(draftOf({ from: account.address, to: BOB, value: '0x5' }))
  })

  it('reads a wallet’s JSON, with wei as a decimal', async () => {
    const wallet = { from: ALICE, to: BOB, value: '10', data: '0x01', gas: '0x5208' }
    expect(await draftFrom(JSON.stringify(wallet))).toEqual(
      draftOf({ from: ALICE, to: BOB, value: '0xa', data: '0x01' }),
    )
  })

  it('reads a request with overrides', async () => {
    const block = { stateOverrides: { [ALICE]: { balance: '0x1' } }, calls: [{ to: BOB, input: '0x02' }, {}] }
    const request = { method: 'eth_simulateV1', params: [{ blockStateCalls: [block] }, 'latest'] }
    const { calls, overrides } = await draftFrom(JSON.stringify(request))
    expect(calls).toEqual([{ ...EMPTY_CALL, to: BOB, data: '0x02' }, EMPTY_CALL])
    expect(JSON.parse(overrides)).toEqual(block.stateOverrides)
  })

  it.each(['0x02', '{', '[]', '{"params":[]}', '{"blockStateCalls":[{},{}]}'])('refuses %s', async (text) => {
    await expect(draftFrom(text)).rejects.toThrow(DraftError)
  })
})

describe('a link', () => {
  it('holds the request', () => {
    const draft = draftOf({ to: BOB, data: 'f(string) ["#%&"]' }, '{"a": "ü"}')
    expect(draftOfFragment(`#${fragmentOf(draft)}`)).toEqual(draft)
  })

  it.each(['', '#', '#%', '#{}', '#{"calls":[],"overrides":""}', '#{"calls":[null],"overrides":""}'])(
    'holds none in %s',
    (fragment) => expect(draftOfFragment(fragment)).toBeUndefined(),
  )
})
