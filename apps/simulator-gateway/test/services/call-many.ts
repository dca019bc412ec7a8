import { assemble } from '../assemble.js'
import { ask, FAILS, FRIEND, OWNER, refusal, STATE, TOKEN, transfer, word } from './stand.js'

describe('eth_callMany and debug_traceCallMany', () => {
  const bundles = [
    { transactions: [transfer, { from: OWNER, to: FAILS }] },
    { transactions: [{ to: TOKEN, data: `0x70a08231${word(FRIEND).slice(2)}` }] },
  ]

  it('run bundles one after another', async () => {
    expect(await ask('eth_callMany', bundles, { blockNumber: 'latest', transactionIndex: -1 }, STATE)).toEqual([
      [{ value: word(1n) }, { error: 'execution reverted: ERC20InsufficientBalance: holds 0, needs 25' }],
      [{ value: word(250_000n) }],
    ])
    const asked = [
      {
        transactions: [{ data: assemble('NUMBER 0 MSTORE TIMESTAMP 32 MSTORE 64 0 RETURN') }],
        blockOverride: { blockNumber: '0x5', timestamp: '0x70000000' },
      },
    ]
    expect(await ask('eth_callMany', asked, null)).toEqual([[{ value: word(5n) + word(0x70000000n).slice(2) }]])
  })

  it('trace calls like debug_traceCall', async () => {
    const config = { tracer: 'callTracer', stateOverrides: STATE }
    const traces = await ask('debug_traceCallMany', bundles, { blockNumber: 'latest' }, config)
    expect(traces.map((bundle: unknown[]) => bundle.length)).toEqual([2, 1])
    expect(traces[0][0]).toMatchObject({ type: 'CALL', from: OWNER, to: TOKEN, output: word(1n) })
    expect(traces[0][1]).toMatchObject({ error: 'execution reverted' })
    const [[steps]] = await ask(
      'debug_traceCallMany',
      [{ transactions: [{ to: TOKEN }] }],
      {},
      { enableMemory: true, stateOverrides: STATE },
    )
    expect(Object.keys(steps)).toEqual(['gas', 'failed', 'returnValue', 'structLogs'])
  })

  it.each([
    [[bundles, { transactionIndex: -3 }], 'params[1].transactionIndex: expected a number of transactions, got -3'],
    [[[{ transactions: [{ to: 'x' }] }]], 'params[0][0].transactions[0].to: expected an address'],
    [
      [[{ transactions: [], blockOverride: { difficulty: '0x1' } }]],
      'params[0][0].blockOverride.difficulty: cannot be overridden',
    ],
    [[[{}]], 'params[0][0].transactions: expected an array'],
  ])('reject %j and name the field', async (params, problem) => {
    expect(await refusal('eth_callMany', ...params)).toMatchObject({
      code: -32602,
      message: expect.stringContaining(problem),
    })
  })
})
