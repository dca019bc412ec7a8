import { DecodeError } from '@upfront/protocol'
import { chainRulesFromGenesis } from './chain-rules-from-genesis.js'
import { rulesAt } from './rules-at.js'

const dev = {
  chainId: 1337,
  terminalTotalDifficulty: 0,
  shanghaiTime: 0,
  cancunTime: 0,
  pragueTime: 100,
  osakaTime: 200,
  bpo1Time: 300,
  blobSchedule: { bpo1: { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193 } },
}

describe('chainRulesFromGenesis', () => {
  it('reads the same from a genesis file and from a bare chain configuration', () => {
    expect(chainRulesFromGenesis({ config: dev, alloc: {} })).toEqual(chainRulesFromGenesis(dev))
  })

  it('uses default blob parameters if the schedule has none, and for Osaka those of the fork before', () => {
    const rules = chainRulesFromGenesis(dev)
    expect([0n, 100n, 200n, 300n].map((time) => rulesAt(rules, 1n, time))).toEqual([
      { fork: 'cancun', blob: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477n } },
      { fork: 'prague', blob: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n } },
      { fork: 'osaka', blob: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n } },
      { fork: 'osaka', blob: { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193n } },
    ])
  })

  it('also reads numbers in hex, as reth writes them', () => {
    expect(chainRulesFromGenesis({ ...dev, chainId: '0x539', pragueTime: '0x64' })).toEqual(chainRulesFromGenesis(dev))
  })

  it('finds the Merge by netsplit block, by total difficulty, or at the latest by Shanghai', () => {
    const old = { chainId: 1, shanghaiTime: 500 }
    expect(rulesAt(chainRulesFromGenesis({ ...old, mergeNetsplitBlock: 36 }), 35n, 0n)).toBeUndefined()
    expect(rulesAt(chainRulesFromGenesis({ ...old, mergeNetsplitBlock: 36 }), 36n, 0n)).toEqual({ fork: 'paris' })
    expect(rulesAt(chainRulesFromGenesis({ ...old, terminalTotalDifficulty: 0 }), 0n, 0n)).toEqual({ fork: 'paris' })
    expect(rulesAt(chainRulesFromGenesis({ ...old, terminalTotalDifficulty: 17e15 }), 9n, 499n)).toBeUndefined()
    expect(rulesAt(chainRulesFromGenesis({ ...old, terminalTotalDifficulty: 17e15 }), 9n, 500n)).toEqual({
      fork: 'shanghai',
    })
  })

  it('reads an OP-stack chain’s own forks and fee parameters', () => {
    const rules = chainRulesFromGenesis({
      chainId: 10,
      bedrockBlock: 50,
      canyonTime: 100,
      shanghaiTime: 100,
      jovianTime: 200,
      optimism: { eip1559Elasticity: 10, eip1559Denominator: 50 },
    })
    expect(rules).toMatchObject({
      stack: 'optimism',
      schedule: { blockTime: 2n },
      opBaseFee: { elasticity: 10n, denominator: 50n, denominatorCanyon: 250n },
    })
    expect(rulesAt(rules, 49n, 0n)).toBeUndefined()
    expect(rulesAt(rules, 50n, 99n)).toEqual({ fork: 'paris', opFork: 'bedrock' })
    expect(rulesAt(rules, 50n, 100n)).toEqual({ fork: 'shanghai', opFork: 'canyon' })
    expect(rulesAt(rules, 50n, 200n)).toEqual({ fork: 'prague', opFork: 'jovian' })
  })

  it('names the first scheduled fork that is not implemented', () => {
    expect(chainRulesFromGenesis({ ...dev, ubtTime: 900, bogotaTime: 800 }).unsupportedFrom).toEqual({
      fork: 'bogota',
      timestamp: 800n,
    })
  })

  it.each([
    [null, 'expected a genesis file or chain configuration, got null'],
    [[], 'expected a genesis file or chain configuration, got an array'],
    [{}, 'config.chainId: expected a chain id, got nothing'],
    [{ chainId: 'x' }, 'config.chainId: expected a whole number, got "x"'],
    [{ chainId: 1 }, 'config: expected a chain that went through the Merge, got one without proof of stake'],
    [{ ...dev, pragueTime: -1 }, 'config.pragueTime: expected a whole number, got -1'],
    [{ ...dev, pragueTime: 1.5 }, 'config.pragueTime: expected a whole number, got 1.5'],
    [{ ...dev, blobSchedule: [] }, 'config.blobSchedule: expected an object, got an array'],
    [{ ...dev, blobSchedule: { bpo1: { target: 1 } } }, 'config.blobSchedule.bpo1.max: expected a number, got nothing'],
    [
      { ...dev, blobSchedule: { bpo1: { target: 1, max: 1, baseFeeUpdateFraction: 0 } } },
      'config.blobSchedule.bpo1: expected a target of at most `max` blobs and a fraction above 0',
    ],
    [
      { ...dev, depositContractAddress: '0x1' },
      'config.depositContractAddress: expected an address of 20 bytes in hex, got "0x1"',
    ],
  ])('refuses %j', (json, message) => {
    expect(() => chainRulesFromGenesis(json)).toThrow(new DecodeError(undefined, message))
  })
})
