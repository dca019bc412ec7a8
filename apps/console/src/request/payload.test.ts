import { parseEther, toHex } from 'viem'
import { type AccountDraft, type Draft, EMPTY_ACCOUNT, EMPTY_BLOCK, EMPTY_CALL, EMPTY_DRAFT } from './draft.js'
import { DraftError } from './draft-error.js'
import { callsBefore, payloadOf } from './payload.js'

const ALICE = '0x00000000000000000000000000000000000a11ce'
const BOB = '0x0000000000000000000000000000000000000b0b'

const draftOf = (call: object, overrides = ''): Draft => ({
  ...EMPTY_DRAFT,
  blocks: [{ ...EMPTY_BLOCK, calls: [{ ...EMPTY_CALL, ...call }], overrides }],
})
const callOf = (draft: Draft) => payloadOf(draft).blockStateCalls[0]?.calls[0]

describe('payloadOf', () => {
  it('omits empty fields', () => {
    expect(payloadOf(draftOf({ to: BOB }))).toEqual({
      blockStateCalls: [{ calls: [{ to: BOB }] }],
      traceTransfers: true,
    })
  })

  it('reads a decimal value as ether and hex as wei', () => {
    expect(callOf(draftOf({ value: '0.01' }))).toEqual({ value: toHex(parseEther('0.01')) })
    expect(callOf(draftOf({ value: '0x01' }))).toEqual({ value: '0x1' })
  })

  it('encodes a function call with its arguments', () => {
    const data = `transfer(address to, uint256 amount) ["${BOB}", "1"]`
    expect(callOf(draftOf({ data }))?.input).toBe(`0xa9059cbb${BOB.slice(2).padStart(64, '0')}${'1'.padStart(64, '0')}`)
    expect(callOf(draftOf({ data: 'totalSupply()' }))?.input).toBe('0x18160ddd')
  })

  it('includes state overrides', () => {
    expect(payloadOf(draftOf({}, `{"${ALICE}": {"balance": "0x1"}}`)).blockStateCalls[0]?.stateOverrides).toEqual({
      [ALICE]: { balance: '0x1' },
    })
  })

  it('merges form overrides with JSON overrides, in several blocks, and names a wrong field with its block', () => {
    const account = (fields: Partial<AccountDraft>) => ({ ...EMPTY_ACCOUNT, address: ALICE, ...fields })
    const first = {
      ...EMPTY_BLOCK,
      overrides: `{"${ALICE}": {"nonce": "0x7"}}`,
      accounts: [
        account({ balance: '1', code: '0x00' }),
        account({ slot: '1', value: '0xabc' }),
        account({ slot: '2', value: '5' }),
      ],
    }
    const second = { ...EMPTY_BLOCK, number: '100', time: '0x10', baseFee: '7' }
    const word = (digits: string) => `0x${digits.padStart(64, '0')}`
    expect(payloadOf({ ...EMPTY_DRAFT, blocks: [first, second] }).blockStateCalls).toEqual([
      {
        calls: [{}],
        stateOverrides: {
          [ALICE]: {
            ...{ nonce: '0x7', balance: toHex(parseEther('1')), code: '0x00' },
            stateDiff: { [word('1')]: word('abc'), [word('2')]: word('5') },
          },
        },
      },
      { calls: [{}], blockOverrides: { number: '0x64', time: '0x10', baseFeePerGas: '0x7' } },
    ])
    const faulty = (fields: object) => () => payloadOf({ ...EMPTY_DRAFT, blocks: [first, { ...second, ...fields }] })
    expect(faulty({ time: 'soon' })).toThrow('Block 2, Time: not a whole number')
    expect(faulty({ calls: [{ ...EMPTY_CALL, to: '0x' }] })).toThrow('Block 2, Call 1, to: not an address')
    expect(faulty({ accounts: [account({ address: '' })] })).toThrow('Block 2, Account 1, address: is missing')
    expect(faulty({ accounts: [account({ slot: '1' })] })).toThrow('Block 2, Account 1, storage slot: enter the slot')
    expect(faulty({ accounts: [account({ code: '0x0' })] })).toThrow('Block 2, Account 1, code: not 0x-hex')
  })

  it('includes the other fields of a transaction', () => {
    const fields = { gas: '21000', nonce: '0x5', maxFeePerGas: '7', more: '{"accessList": [], "value": "0x9"}' }
    const draft = { ...draftOf({ value: '0x1', ...fields }), validation: 'yes' }
    const call = { gas: '0x5208', nonce: '0x5', maxFeePerGas: '0x7', accessList: [], value: '0x1' }
    expect(payloadOf(draft)).toEqual({ blockStateCalls: [{ calls: [call] }], traceTransfers: true, validation: true })
  })

  it('puts earlier transactions of the block before the call, and merges other block overrides', () => {
    const block = { ...EMPTY_BLOCK, calls: [{ ...EMPTY_CALL, to: BOB }], before: '[{"to":"0x1"}]' }
    const draft = { ...EMPTY_DRAFT, blocks: [{ ...block, time: '5', more: '{"gasLimit":"0x9"}' }] }
    expect(payloadOf(draft).blockStateCalls).toEqual([
      { calls: [{ to: '0x1' }, { to: BOB }], blockOverrides: { gasLimit: '0x9', time: '0x5' } },
    ])
    expect(callsBefore(draft)).toEqual([1])
  })

  it('throws an error with the field’s path', () => {
    const error = (call: object) => {
      try {
        return payloadOf(draftOf(call))
      } catch (error) {
        return error
      }
    }
    expect(error({ gas: 'much' })).toMatchObject({ field: 'blocks.0.calls.0.gas', reason: 'not a whole number' })
    const wrongDigit = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeE'
    expect(error({ to: wrongDigit })).toMatchObject({
      field: 'blocks.0.calls.0.to',
      message: expect.stringMatching(/checksum/),
    })
  })

  it.each([
    [{ from: '0x12' }, '', 'Call 1, from: not an address of 20 bytes'],
    [{ value: '1,5' }, '', 'Call 1, value: expected ether, such as 0.01, or wei, such as 0x1'],
    [{ data: '0x123' }, '', 'Call 1, data: expected 0x-hex, or a function'],
    [{ data: 'transfer(address,uint256) ["0x1"]' }, '', 'Call 1, data: '],
    [{ data: 'f(uint256) [1' }, '', 'Call 1, data: '],
    [{}, '{', 'State overrides: not JSON'],
    [{}, '[]', 'State overrides: not an object'],
  ])('names the wrong field: %j %s', (call, overrides, message) => {
    expect(() => payloadOf(draftOf(call, overrides))).toThrow(DraftError)
    expect(() => payloadOf(draftOf(call, overrides))).toThrow(message)
  })
})

it('rejects a number in arguments that lost digits in parsing', () => {
  const data = `transfer(address,uint256) ["${BOB}", 1000000000000000000001]`
  expect(() => payloadOf(draftOf({ data }))).toThrow(/^Call 1, data: write 1e\+21 in quotes/)
})
