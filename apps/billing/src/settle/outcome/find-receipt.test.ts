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

describe('findReceipt', () => {
  it('returns the receipt that succeeded, even if newer transactions failed or are pending', async () => {
    expect(
      await find([
        ['0x3', 7],
        ['0x2', 6, 'failed'],
        ['0x1', 5, 'succeeded'],
      ]),
    ).toBe('0x1')
  })

  it('returns the newest receipt if all transactions failed', async () => {
    expect(
      await find([
        ['0x2', 6, 'failed'],
        ['0x1', 5, 'failed'],
      ]),
    ).toBe('0x2')
  })

  it('returns none if an older transaction failed and the newest, with another nonce, is pending', async () => {
    expect(
      await find([
        ['0x2', 6],
        ['0x1', 5, 'failed'],
      ]),
    ).toBeUndefined()
  })

  it('returns the receipt that failed if the newest transaction only replaces that one (same nonce)', async () => {
    expect(
      await find([
        ['0x2', 5],
        ['0x1', 5, 'failed'],
      ]),
    ).toBe('0x1')
  })
})
