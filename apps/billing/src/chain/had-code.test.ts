import { decodeChains } from '../environment/chain-settings.js'
import { Chain } from './chain.js'
import type { Node } from './node.js'
import { NodeFault, NodeRefusal } from './node-error.js'

const PAYER = `0x${'1'.repeat(40)}` as const
const [settings] = decodeChains(
  JSON.stringify({
    'eip155:31337': {
      rpcUrl: 'http://127.0.0.1:1',
      tokens: { [`0x${'2'.repeat(40)}`]: { name: 'USDC', version: '2', decimals: 6 } },
    },
  }),
)

function chainOf(codeAt: (block: string) => string): Chain {
  const request = async (_method: string, [, block]: [string, string]) => codeAt(block)
  return new Chain({ ...settings!, confirmations: 1 }, [], { request } as unknown as Node)
}

describe('hadCode', () => {
  it.each([
    ['undelegated in that block', { '0x9': '0xef0100', '0xa': '0x', latest: '0x' }, true],
    ['delegated in that block', { '0x9': '0x', '0xa': '0xef0100', latest: '0x' }, true],
    ['none', { '0x9': '0x', '0xa': '0x', latest: '0xef0100' }, false],
  ])('reads the code of the payer before and after the block: %s', async (_, codes, had) => {
    expect(await chainOf((block) => (codes as Record<string, string>)[block]!).hadCode(PAYER, 10n)).toBe(had)
  })

  it.each([
    ['0x6000', true],
    ['0x', false],
  ])('uses the latest code if the node has pruned the state of the block: %s', async (now, had) => {
    const chain = chainOf((block) => {
      if (block !== 'latest') throw new NodeRefusal('missing trie node', -32000)
      return now
    })
    expect(await chain.hadCode(PAYER, 10n)).toBe(had)
  })

  it('throws NodeFault if the node does not answer', async () => {
    const chain = chainOf(() => {
      throw new NodeFault('eth_getCode: no answer')
    })
    await expect(chain.hadCode(PAYER, 10n)).rejects.toThrow(NodeFault)
  })
})
