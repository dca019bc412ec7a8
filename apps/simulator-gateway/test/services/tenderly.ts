import { ask, FAILS, FRIEND, OUTER, OWNER, refusal, STATE, TOKEN, TRANSFER, transfer, word } from './stand.js'

describe('tenderly_simulateTransaction', () => {
  const FIELDS =
    'status gasUsed cumulativeGasUsed blockNumber type logsBloom logs trace assetChanges balanceChanges stateChanges'

  it('returns decoded logs and calls, and changes of assets, balances and state', async () => {
    const result = await ask(
      'tenderly_simulateTransaction',
      { ...transfer, gas: '0x0', gasPrice: '0x0' },
      'latest',
      STATE,
    )
    expect(Object.keys(result)).toEqual(FIELDS.split(' '))
    expect(result).toMatchObject({ status: true, blockNumber: '0x1', type: '0x0', cumulativeGasUsed: result.gasUsed })
    expect(result.logs).toEqual([
      {
        name: 'Transfer',
        anonymous: false,
        inputs: [
          { name: 'from', type: 'address', value: OWNER },
          { name: 'to', type: 'address', value: FRIEND },
          { name: 'value', type: 'uint256', value: '250000' },
        ],
        raw: { address: TOKEN, topics: [word(TRANSFER), word(OWNER), word(FRIEND)], data: word(250_000n) },
      },
    ])
    expect(result.trace).toMatchObject([
      {
        type: 'CALL',
        method: 'transfer',
        from: OWNER,
        to: TOKEN,
        value: '0x0',
        decodedInput: [
          { name: 'to', type: 'address', value: FRIEND },
          { name: 'value', type: 'uint256', value: '250000' },
        ],
        decodedOutput: null,
        output: word(1n),
        subtraces: 0,
        traceAddress: [],
      },
    ])
    expect(result.assetChanges).toEqual([
      {
        assetInfo: {
          ...{ standard: 'ERC20', type: 'Fungible', contractAddress: TOKEN, symbol: null, name: null, logo: null },
          ...{ decimals: 6, dollarValue: null },
        },
        ...{ type: 'Transfer', from: OWNER, to: FRIEND, rawAmount: '0x3d090', amount: '0.25', dollarValue: null },
      },
    ])
    expect(result.balanceChanges).toEqual([
      { address: OWNER, dollarValue: '', transfers: [0] },
      { address: FRIEND, dollarValue: '', transfers: [0] },
    ])
    const ofToken = result.stateChanges.find(({ address }: { address: string }) => address === TOKEN)
    expect(ofToken.storage).toEqual([
      { slot: word(OWNER), previousValue: word(1_000_000n), newValue: word(750_000n) },
      { slot: word(FRIEND), previousValue: word(0n), newValue: word(250_000n) },
    ])
  })

  it('returns the reason of a failure in words, and the failing frame', async () => {
    const result = await ask('tenderly_simulateTransaction', { from: OWNER, to: OUTER, gas: 500_000 }, 'latest', STATE)
    expect(result.status).toBe(true)
    expect(result.trace.map(({ traceAddress }: { traceAddress: number[] }) => traceAddress)).toEqual([
      [],
      [0],
      [1],
      [2],
    ])
    expect(result.trace[0].subtraces).toBe(3)
    expect(result.trace[3].error).toBe('ERC20InsufficientBalance: holds 0, needs 25')
    const failed = await ask('tenderly_simulateTransaction', { from: OWNER, to: FAILS }, 'latest', STATE)
    expect(failed).toMatchObject({
      status: false,
      errorMessage: 'execution reverted: ERC20InsufficientBalance: holds 0, needs 25',
    })
    expect(failed.assetChanges).toBeUndefined()
  })

  it('runs a bundle in order, with block overrides', async () => {
    const results = await ask('tenderly_simulateBundle', [transfer, transfer], 'latest', STATE, {
      number: '0x1',
      coinbase: FRIEND,
    })
    expect(results.map(({ status }: { status: boolean }) => status)).toEqual([true, true])
    expect(BigInt(results[1].cumulativeGasUsed)).toBe(BigInt(results[0].gasUsed) + BigInt(results[1].gasUsed))
    const slot = results[1].stateChanges.find(({ address }: { address: string }) => address === TOKEN).storage[0]
    expect(slot.previousValue).toBe(word(750_000n))
  })

  it('estimates gas that suffices', async () => {
    const estimate = await ask('tenderly_estimateGas', { ...transfer, gas: undefined }, 'latest', STATE)
    expect(Object.keys(estimate)).toEqual(['gas', 'gasUsed'])
    const run = await ask('tenderly_simulateTransaction', { ...transfer, gas: estimate.gas }, 'latest', STATE)
    expect(run).toMatchObject({ status: true, gasUsed: estimate.gasUsed })
    expect(await ask('tenderly_estimateGasBundle', [transfer, transfer], 'latest', STATE)).toHaveLength(2)
    expect(await refusal('tenderly_estimateGas', { from: OWNER, to: FAILS }, 'latest', STATE)).toMatchObject({
      code: -32000,
      message: 'transaction 0: execution reverted: ERC20InsufficientBalance: holds 0, needs 25',
    })
  })

  it.each([
    [[{ ...transfer, gas: 'x' }], 'params[0].gas: expected a hex quantity'],
    [[5], 'params[0]: expected an object, got 5'],
    [[transfer, 'latest', { x: {} }], 'params[2]'],
    [[transfer, 'latest', {}, { time: 'x' }], 'params[3].time'],
    [[transfer, 'latest', {}, {}, 1], 'params: expected at most 4, got 5'],
  ])('rejects %j and names the field', async (params, problem) => {
    expect(await refusal('tenderly_simulateTransaction', ...params)).toMatchObject({
      code: -32602,
      message: expect.stringContaining(problem),
    })
  })
})
