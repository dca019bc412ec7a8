import type { Chain } from '../../chain/chain.js'
import type { Receipt } from '../../chain/receipt.js'
import type { OwnTransaction } from '../../ledger/signed-transactions.js'
import { findReceipt } from './find-receipt.js'

/** A payment's transactions, newest first, and how those that were mined ended. */
async function find(transactions: [hash: `0x${string}`, nonce: number, ended?: 'succeeded' | 'failed'][]) {
  const ends = new Map(transactions.map(([hash, , ended]) => [hash, ended]))
  const receipt = async (hash: `0x${string}`) => {
    const ended = ends.get(hash)
    return ended === undefined ? null : ({ hash, succeeded: ended === 'succeeded' } as Receipt)
  }
  const own = transactions.map(([hash, nonce]) => ({ hash, nonce, items: 1 }) as OwnTransaction)
  return (await findReceipt({ receipt } as unknown as Chain, own))?.hash
}

describe('the receipt of a payment', () => {
  it('is of the transaction that succeeded, whatever came after it', async () => {
    expect(
      await find([
        ['0x3', 7],
        ['0x2', 6, 'failed'],
        ['0x1', 5, 'succeeded'],
      ]),
    ).toBe('0x1')
  })

  it('is of the newest where that failed', async () => {
    expect(
      await find([
        ['0x2', 6, 'failed'],
        ['0x1', 5, 'failed'],
      ]),
    ).toBe('0x2')
  })

  it('is not of an older one that failed, which the newest followed', async () => {
    expect(
      await find([
        ['0x2', 6],
        ['0x1', 5, 'failed'],
      ]),
    ).toBeUndefined()
  })

  it('is of the one that failed in place of the newest, which has the same nonce and a higher fee', async () => {
    expect(
      await find([
        ['0x2', 5],
        ['0x1', 5, 'failed'],
      ]),
    ).toBe('0x1')
  })
})
