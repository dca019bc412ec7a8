import { ask, data, FRIEND, OWNER, refusal, TRANSFER, word } from './stand.js'

describe('alchemy_simulateAssetChanges', () => {
  // The method has no overrides, so a contract creation that runs the token's code shows the changes.
  const change = 'assetType contractAddress tokenId decimals symbol name logo changeType from to rawAmount amount'
    .split(' ')
    .sort()

  it("lists asset changes in the fields of Alchemy's examples", async () => {
    const result = await ask('alchemy_simulateAssetChanges', { from: FRIEND, to: OWNER, value: '0x0' })
    expect(result).toEqual({ changes: [], gasUsed: '0x5208', error: null })
    const emit = `0x${['7f', word(5n).slice(2), '600052', '7f', word(FRIEND).slice(2), '7f', word(OWNER).slice(2)].join('')}7f${word(TRANSFER).slice(2)}60206000a300`
    const { changes, error } = await ask('alchemy_simulateAssetChanges', { from: FRIEND, data: emit })
    expect(error).toBeNull()
    expect(Object.keys(changes[0]).sort()).toEqual(change)
    expect(changes[0]).toMatchObject({
      ...{ assetType: 'ERC20', changeType: 'TRANSFER', from: OWNER, to: FRIEND, rawAmount: '5', amount: null },
      ...{ decimals: null, symbol: null, name: null, logo: null, tokenId: null },
    })
  })

  it('returns an error and no changes for a failed call', async () => {
    const revert = '0x60006000fd'
    const result = await ask('alchemy_simulateAssetChanges', { from: FRIEND, data: revert })
    expect(result).toEqual({
      changes: [],
      gasUsed: null,
      error: { message: expect.stringContaining('execution reverted') },
    })
    expect(
      await ask('alchemy_simulateAssetChangesBundle', [
        { from: FRIEND, to: OWNER },
        { from: FRIEND, data: revert },
      ]),
    ).toMatchObject([{ error: null }, { error: { message: expect.any(String) } }])
  })

  it('returns decoded executions, flat or nested', async () => {
    const call = { from: FRIEND, to: OWNER, data }
    for (const params of [[call], [call, 'latest'], ['FLAT', call, 'latest']]) {
      const { calls, logs } = await ask('alchemy_simulateExecution', ...params)
      expect(logs).toEqual([])
      expect(calls).toEqual([
        {
          ...{
            type: 'CALL',
            from: FRIEND,
            to: OWNER,
            value: '0x0',
            gas: expect.any(String),
            gasUsed: expect.any(String),
          },
          ...{ input: data, output: '0x' },
          decoded: {
            authority: 'ERC-20',
            methodName: 'transfer',
            inputs: [
              { name: 'to', type: 'address', value: FRIEND },
              { name: 'value', type: 'uint256', value: '250000' },
            ],
            outputs: null,
          },
        },
      ])
    }
    const nested = await ask(
      'alchemy_simulateExecution',
      'NESTED',
      { from: FRIEND, data: '0x60006000600060006000610404611388f100' },
      'latest',
    )
    expect(nested.calls).toHaveLength(1)
    expect(nested.calls[0].calls).toHaveLength(1)
    expect(await ask('alchemy_simulateExecutionBundle', [call, call])).toHaveLength(2)
    expect(await refusal('alchemy_simulateExecution', 'TREE', call)).toMatchObject({ code: -32602 })
  })
})
