import type { Hex } from 'viem'
import { ask, FRIEND, OWNER, refusal } from './stand.js'

describe('trace_call and trace_callMany', () => {
  it("return actions in OpenEthereum's format", async () => {
    // PUSH1 0 ×5, PUSH2 0x0404, GAS, CALL: a call of an account without code, from init code.
    const init = '0x60006000600060006000610404 5af100'.replace(' ', '') as Hex
    const result = await ask('trace_call', { from: FRIEND, data: init, gas: '0x186a0' }, ['trace', 'stateDiff'])
    expect(Object.keys(result)).toEqual(['output', 'stateDiff', 'trace', 'vmTrace'])
    expect(result.vmTrace).toBeNull()
    const [made, called] = result.trace
    expect(made).toMatchObject({
      action: { from: FRIEND, value: '0x0', init, creationMethod: 'create' },
      result: { code: '0x', address: expect.stringMatching(/^0x[0-9a-f]{40}$/) },
      ...{ subtraces: 1, traceAddress: [], type: 'create' },
    })
    // Without the intrinsic gas of the transaction.
    expect(BigInt(made.action.gas)).toBeLessThan(100_000n - 53_000n)
    expect(called).toEqual({
      action: {
        from: made.result.address,
        to: `0x${'0'.repeat(36)}0404`,
        callType: 'call',
        gas: expect.any(String),
        value: '0x0',
        input: '0x',
      },
      result: { gasUsed: '0x0', output: '0x' },
      ...{ subtraces: 0, traceAddress: [0], type: 'call' },
    })
    expect(result.stateDiff[FRIEND].nonce).toEqual({ '+': '0x1' })
    expect(result.stateDiff[made.result.address]).toMatchObject({ nonce: { '+': '0x1' }, balance: { '+': '0x0' } })
  })

  it('run calls one after another, each with its own trace types', async () => {
    const pairs = [
      [{ from: FRIEND, data: '0x60006000fd' }, ['trace']],
      [{ from: FRIEND, to: OWNER }, ['stateDiff']],
    ]
    const [reverted, sent] = await ask('trace_callMany', pairs, 'latest')
    expect(reverted).toMatchObject({ stateDiff: null, trace: [{ error: 'Reverted', result: { output: '0x' } }] })
    expect(sent.trace).toEqual([])
    expect(sent.stateDiff[FRIEND].nonce).toEqual({ '*': { from: '0x1', to: '0x2' } })
  })

  it.each([
    ['0xfe', 'Bad instruction'],
    ['0x5f56', 'Bad jump destination'],
    ['0x50', 'Stack underflow'],
    ['0x5b600056', 'Out of gas'],
  ])('return the failure of %s as %s', async (code, error) => {
    const { trace } = await ask('trace_call', { from: FRIEND, data: code, gas: '0x186a0' }, ['trace'])
    expect(trace).toMatchObject([{ error, result: null }])
  })

  it('reject vmTrace and name the field', async () => {
    expect(await refusal('trace_call', { to: OWNER }, ['trace', 'vmTrace'])).toMatchObject({
      code: -32602,
      message: expect.stringContaining('params[1][1]: vmTrace is not supported'),
    })
    expect(await refusal('trace_callMany', [[{ to: 'x' }, ['trace']]])).toMatchObject({
      message: expect.stringContaining('params[0][0][0].to: expected an address'),
    })
  })
})
