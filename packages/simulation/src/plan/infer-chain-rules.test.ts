import type { BlockHeader } from '@upfront/protocol'
import { aHeader } from '../../test/fixtures.js'
import { inferChainRules } from './infer-chain-rules.js'
import { rulesAt } from './rules-at.js'

function without(header: BlockHeader, ...fields: (keyof BlockHeader)[]): BlockHeader {
  return Object.fromEntries(
    Object.entries(header).filter(([key]) => !fields.includes(key as keyof BlockHeader)),
  ) as unknown as BlockHeader
}

const head = aHeader()
const cancun = without(head, 'requestsHash')
const shanghai = without(cancun, 'parentBeaconBlockRoot', 'excessBlobGas', 'blobGasUsed')
const paris = without(shanghai, 'withdrawalsRoot')
const onOptimism = (header: BlockHeader, extraData: `0x${string}` = '0x') => ({
  ...header,
  extraData,
  miner: '0x4200000000000000000000000000000000000011' as const,
})

describe('inferChainRules', () => {
  it.each([
    [head, { fork: 'prague', blob: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n } }],
    [cancun, { fork: 'cancun', blob: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477n } }],
    [shanghai, { fork: 'shanghai' }],
    [paris, { fork: 'paris' }],
    [onOptimism(head, '0x01000000fa0000000600000000000f4240'), { fork: 'prague', opFork: 'jovian' }],
    [onOptimism(head, '0x00000000fa00000006'), { fork: 'prague', opFork: 'isthmus' }],
    [onOptimism(cancun, '0x00000000fa00000006'), { fork: 'cancun', opFork: 'holocene' }],
    [onOptimism(cancun), { fork: 'cancun', opFork: 'granite' }],
    [onOptimism(shanghai), { fork: 'shanghai', opFork: 'canyon' }],
    [onOptimism(paris), { fork: 'paris', opFork: 'regolith' }],
  ])('infers the oldest fork that has the header’s fields: case %#', (header, expected) => {
    const rules = inferChainRules(header, 9n)
    expect(rules).toMatchObject({ chainId: 9n, source: 'inferred' })
    expect(rulesAt(rules, header.number, header.timestamp)).toEqual(expected)
  })
})
