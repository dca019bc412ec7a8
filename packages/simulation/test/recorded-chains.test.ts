import type { BlockHeader } from '@upfront/protocol'
import {
  baseFeeParameters,
  chainRulesFromEthConfig,
  chainRulesFromGenesis,
  nextBaseFee,
  nextExcessBlobGas,
  rulesAt,
  rulesOfHeader,
} from '../src/index.js'
import { recordedHeaders, recordedJson } from './recorded-chain.js'

function pairs(headers: BlockHeader[]): [parent: BlockHeader, child: BlockHeader][] {
  return headers.slice(1).map((child, i) => [headers[i] as BlockHeader, child])
}

describe('rules over the recorded Ethereum chain', () => {
  const rules = () => chainRulesFromGenesis(recordedJson('conformance', 'chain', 'genesis.json'))
  const headers = () => recordedHeaders('conformance')

  it('finds every fork from Paris to Osaka and both BPO forks', () => {
    const seen = headers().map(({ number, timestamp }) => {
      const found = rulesAt(rules(), number, timestamp)
      return found && `${found.fork} ${found.blob?.max ?? '-'}`
    })
    expect([...new Set(seen)]).toEqual([
      undefined,
      'paris -',
      'shanghai -',
      'cancun 6',
      'prague 9',
      'osaka 9',
      'osaka 15',
      'osaka 21',
    ])
  })

  it('finds the fork that each header’s fields show', () => {
    for (const header of headers()) {
      const found = rulesAt(rules(), header.number, header.timestamp)
      if (found === undefined) continue
      const fork = found.fork === 'osaka' ? 'prague' : found.fork
      expect(rulesOfHeader(header).fork).toBe(fork)
    }
  })

  it('derives every base fee and excess blob gas from the parent', () => {
    let checked = 0
    for (const [parent, child] of pairs(headers())) {
      const own = rulesAt(rules(), child.number, child.timestamp)
      if (own === undefined || parent.baseFeePerGas === undefined) continue
      const parentRules = rulesAt(rules(), parent.number, parent.timestamp) ?? rulesOfHeader(parent)
      expect(nextBaseFee(parent, parentRules, baseFeeParameters(rules(), parent, parentRules, own))).toBe(
        child.baseFeePerGas,
      )
      if (child.excessBlobGas !== undefined) expect(nextExcessBlobGas(parent, own)).toBe(child.excessBlobGas)
      checked++
    }
    expect(checked).toBeGreaterThan(15)
  })

  it('reads the same head rules from eth_config as from the genesis file', () => {
    const config = chainRulesFromEthConfig(recordedJson('conformance', 'chain', 'eth-config.json'))
    const head = headers().at(-1) as BlockHeader
    expect(config.chainId).toBe(rules().chainId)
    expect(config.depositContract).toBe(rules().depositContract)
    expect(rulesAt(config, head.number, head.timestamp)).toEqual(rulesAt(rules(), head.number, head.timestamp))
    expect(rulesAt(config, head.number - 5n, head.timestamp - 50n)).toBeUndefined()
  })
})

describe('rules over the recorded OP-stack chain', () => {
  const rules = () => chainRulesFromGenesis(recordedJson('conformance-op', 'chain', 'genesis.json'))

  it('are Jovian from genesis on', () => {
    expect(rulesAt(rules(), 0n, 0n)).toEqual({ fork: 'prague', opFork: 'jovian' })
    expect(chainRulesFromGenesis(recordedJson('conformance-op', 'chain', 'chain-config.json'))).toMatchObject({
      stack: 'optimism',
      chainId: 7770777n,
      schedule: { blockTime: 2n },
    })
  })

  it('derives every base fee from the parent, its extraData and its DA footprint', () => {
    const chain = rules()
    const headers = recordedHeaders('conformance-op')
    const footprintCounted = headers.filter((header) => (header.blobGasUsed ?? 0n) > header.gasUsed)
    expect(footprintCounted.length).toBeGreaterThan(0)
    for (const [parent, child] of pairs(headers)) {
      const jovian = rulesAt(chain, parent.number, parent.timestamp)
      if (jovian === undefined) throw new Error('no rules')
      expect(nextBaseFee(parent, jovian, baseFeeParameters(chain, parent, jovian, jovian))).toBe(child.baseFeePerGas)
      expect(nextExcessBlobGas(parent, jovian)).toBe(child.excessBlobGas)
    }
  })
})
