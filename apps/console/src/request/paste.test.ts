import { privateKeyToAccount } from 'viem/accounts'
import { type Draft, EMPTY_BLOCK, EMPTY_CALL } from './draft.js'
import { DraftError } from './draft-error.js'
import { draftFrom } from './paste.js'

const ALICE = '0x00000000000000000000000000000000000a11ce'
const BOB = '0x0000000000000000000000000000000000000b0b'

const draftOf = (call: object, overrides = ''): Draft => ({
  blocks: [{ ...EMPTY_BLOCK, calls: [{ ...EMPTY_CALL, ...call }], overrides }],
  abi: '',
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
    const { blocks } = await draftFrom(JSON.stringify(request))
    expect(blocks[0]?.calls).toEqual([{ ...EMPTY_CALL, to: BOB, data: '0x02' }, EMPTY_CALL])
    expect(JSON.parse(blocks[0]?.overrides ?? '')).toEqual(block.stateOverrides)
    const several = { blockStateCalls: [block, { blockOverrides: { time: '0x10' } }] }
    expect((await draftFrom(JSON.stringify(several))).blocks[1]).toEqual({ ...EMPTY_BLOCK, time: '0x10' })
  })

  it.each([
    '0x02',
    '{',
    '[]',
    '{"params":[]}',
    '{"blockStateCalls":[]}',
    '{"blockStateCalls":[{"blockOverrides":{"x":1}}]}',
  ])('refuses %s', async (text) => {
    await expect(draftFrom(text)).rejects.toThrow(DraftError)
  })
})

it.each(['1e21', '1.5', '-1'])('refuses a value of %s as a number', async (value) => {
  await expect(draftFrom(`{"to": "${BOB}", "value": ${value}}`)).rejects.toThrow(DraftError)
})
