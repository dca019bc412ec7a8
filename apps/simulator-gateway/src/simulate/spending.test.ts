import { ErrorCode, RpcError } from '@upfront/protocol'
import { CallsRan } from '@upfront/simulation'
import type { Cost } from '../limits/free-budget.js'
import { Overloaded } from '../limits/refused.js'
import { countRefusedRun, countSpending, MaximumSpent, type WorkCost } from './spending.js'

// More gas than can be used in the time that a test takes.
const GAS = 50_000_000_000n

async function spentOn(error: Error, took?: WorkCost): Promise<Cost | undefined> {
  const spent: Cost[] = []
  const context = { spendInVain: (cost: Cost) => void spent.push(cost) }
  const work = async (taken: WorkCost) => {
    Object.assign(taken, took)
    throw error
  }
  await expect(countSpending({ gas: GAS }, context, work)).rejects.toBe(error)
  return spent[0]
}

describe('spending', () => {
  it('counts the full gas limit if the run exceeded a limit of its own', async () => {
    const error = new RpcError(ErrorCode.limitExceeded, 'the request took longer than 1 ms')
    expect((await spentOn(error))?.gasUsed).toBe(GAS)
  })

  it('counts what is possible in its time if the run was ended for lack of memory', async () => {
    expect((await spentOn(new Overloaded('memory is short')))?.gasUsed).toBeLessThan(GAS)
  })

  it('adds the runs before the one that was ended', async () => {
    const took = { gasUsed: 30n * GAS }
    expect((await spentOn(new RpcError(ErrorCode.limitExceeded, 'too long'), took))?.gasUsed).toBe(31n * GAS)
    expect((await spentOn(new Overloaded('memory is short'), took))?.gasUsed).toBeGreaterThan(30n * GAS)
  })

  it('counts a refused run by time, once, if earlier calls ran and the request continues', async () => {
    const spent: Cost[] = []
    const context = { spend: (cost: Cost) => void spent.push(cost), spendInVain: (cost: Cost) => void spent.push(cost) }
    const error = Object.assign(new RpcError(ErrorCode.nonceTooHigh, 'nonce too high'), { cause: new CallsRan() })
    const refused = async () => {
      throw error
    }
    await countSpending({ gas: GAS }, context, async () => {
      await expect(countRefusedRun({ gas: GAS }, context, refused)).rejects.toBe(error)
    })
    expect(spent).toEqual([{ gasUsed: expect.anything() }, { gasUsed: 0n, reads: 0 }])
    const [{ gasUsed }] = spent as [{ gasUsed: bigint }]
    expect(gasUsed > 0n && gasUsed <= GAS).toBe(true)
    expect((await spentOn(error))?.gasUsed).toBe(0n)
  })

  it('counts only completed runs if the payer’s maximum is spent', async () => {
    const took = { gasUsed: 7n * GAS }
    expect((await spentOn(new MaximumSpent(7n * GAS, 6n * GAS), took))?.gasUsed).toBe(7n * GAS)
  })

  it('counts the gas and reads that a failed call used until it failed', async () => {
    const error = new RpcError(ErrorCode.invalidParams, 'to: expected an address')
    expect(await spentOn(error)).toEqual({ gasUsed: 0n, reads: 0 })
    expect(await spentOn(error, { gasUsed: 21_000n, budget: { used: 3 } })).toEqual({ gasUsed: 21_000n, reads: 3 })
  })

  it('counts a successful run once, synchronously if the work is synchronous', () => {
    const spent: Cost[] = []
    const context = { spend: (cost: Cost) => void spent.push(cost) }
    const done = countSpending({ gas: GAS }, context, (taken) => {
      taken.gasUsed += 42_000n
      return 'done'
    })
    expect(done).toBe('done')
    expect(spent).toEqual([{ gasUsed: 42_000n, reads: 0 }])
  })
})
