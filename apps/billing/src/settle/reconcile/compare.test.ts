import { DrizzleQueryError } from 'drizzle-orm'
import type { Chain } from '../../chain/chain.js'
import { NodeRefusal } from '../../chain/node-error.js'
import type { Log } from '../../chain/receipt.js'
import { encodeSettlement, type SignedTerms, UPTO_PROXY } from '../../chain/settlement-call.js'
import type { Database } from '../../ledger/ledger.js'
import { explain } from './compare.js'

const ADDRESS = `0x${'a5'.repeat(20)}` as const
const terms: SignedTerms = {
  ...{ kind: 'upto-permit2', asset: ADDRESS, payer: ADDRESS, payTo: ADDRESS, facilitator: ADDRESS },
  ...{ maximum: 5n, nonce: 1n, deadline: 1n, validAfter: 0n, signature: `0x${'11'.repeat(65)}` },
  ...{ permitDeadline: null, permitSignature: null },
}
const log = {
  ...{ logIndex: 0, address: ADDRESS, transactionHash: '0x1', blockNumber: 7n, data: '0x5' },
  topics: ['0x', '0x', `0x${'0'.repeat(24)}${'5e'.repeat(20)}`],
} as Log

function chainOf(transaction: Chain['transaction']): Chain {
  return { network: 'eip155:1', transaction } as unknown as Chain
}

describe('explain, for a transfer that is not in the ledger', () => {
  it('rejects if the ledger cannot be read, so that the blocks are compared again', async () => {
    const lost = new DrizzleQueryError('select', [], new Error('Connection terminated unexpectedly'))
    const from = () => ({ where: () => Promise.reject(lost) })
    const db = { select: () => ({ from }) } as unknown as Database
    const chain = chainOf(async () => ({ to: UPTO_PROXY, input: encodeSettlement(terms, 5n) }))
    await expect(explain(db, chain, log)).rejects.toBe(lost)
  })

  it('reports an unexplained difference if the node refuses to return the transaction', async () => {
    const chain = chainOf(() => Promise.reject(new NodeRefusal('pruned', -32000)))
    expect(await explain({} as Database, chain, log)).toMatchObject({
      kind: 'difference',
      difference: { kind: 'unexplained', transaction: '0x1', blockNumber: '7' },
    })
  })
})
