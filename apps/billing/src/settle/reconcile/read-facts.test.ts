import type { Chain } from '../../chain/chain.js'
import { NodeFault, NodeRefusal } from '../../chain/node-error.js'
import { readTransfers } from './read-facts.js'

const PLACES = { assets: ['0x01'], recipients: ['0x02'] } as const
const log = (blockNumber: bigint, amount = 1n) => ({ blockNumber, data: `0x${amount.toString(16).padStart(64, '0')}` })

function chainOf(logs: (from: bigint, to: bigint) => ReturnType<typeof log>[]) {
  const asked: string[] = []
  const chain = {
    logs: async (_assets: unknown, _topics: unknown, from: bigint, to: bigint) => {
      asked.push(`${from}-${to}`)
      return logs(from, to)
    },
  } as unknown as Chain
  return { chain, asked }
}

it.each([
  new NodeRefusal('query exceeds max results 20000', -32602),
  new NodeFault('eth_getLogs: query returned more than 10000 results'),
  new NodeFault('eth_getLogs: more than 67108864 bytes'),
])('halves a block range that the node refuses, without skipping a block: %s', async (refusal) => {
  const { chain } = chainOf((from, to) => {
    if (to - from >= 3n) throw refusal
    return Array.from({ length: Number(to - from) + 1 }, (_, index) => log(from + BigInt(index)))
  })
  const { logs, unread } = await readTransfers(chain, PLACES, { from: 1n, to: 20n })
  expect(logs.map(({ blockNumber }) => Number(blockNumber))).toEqual(
    Array.from({ length: 20 }, (_, index) => index + 1),
  )
  expect(unread).toEqual([])
})

it('skips a single block that the node refuses, and returns it as unread', async () => {
  const { chain } = chainOf((from, to) => {
    if (from <= 5n && to >= 5n) throw new NodeRefusal('more than 10000 results', -32602)
    return [log(from)]
  })
  const { unread } = await readTransfers(chain, PLACES, { from: 1n, to: 8n })
  expect(unread).toEqual([{ from: 5n, to: 5n }])
})

it('does not request each block separately if the node refuses every range', async () => {
  const { chain, asked } = chainOf(() => {
    throw new NodeRefusal('pruned', -32000)
  })
  const { unread } = await readTransfers(chain, PLACES, { from: 1n, to: 2_000n })
  expect(asked.length).toBeLessThan(200)
  expect(unread.reduce((sum, { from, to }) => sum + Number(to - from) + 1, 0)).toBe(2_000)
})

it('rejects if the node does not answer, and ignores transfers of zero', async () => {
  const silent = chainOf(() => {
    throw new NodeFault('eth_getLogs: no answer')
  })
  await expect(readTransfers(silent.chain, PLACES, { from: 1n, to: 9n })).rejects.toThrow(NodeFault)
  const { chain } = chainOf(() => [log(1n, 0n), log(1n, 7n)])
  expect((await readTransfers(chain, PLACES, { from: 1n, to: 1n })).logs).toHaveLength(1)
})
