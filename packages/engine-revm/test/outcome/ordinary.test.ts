import { type Hex, RpcError } from '@upfront/protocol'
import type { Outcome } from '@upfront/simulation'
import { RECORDED, recordedInspection } from '../recorded-inspection.js'

interface Judged {
  hash: Hex
  succeeded: boolean
  outcome: Outcome
}

/** The verdict on each transaction of a real block, run separately on the parent's state. @param withGas with its own gas limit */
async function judge(name: string, withGas: boolean): Promise<Judged[]> {
  const { transactions, inspect, close } = recordedInspection(name)
  const judged: Judged[] = []
  for (const { hash, from, to, input, value, gas } of transactions) {
    const call = { from, ...(to && { to }), input, value, ...(withGas && { gas }) }
    const block = await unlessRefused(() => inspect([call], { outcome: true }))
    // It depends on earlier transactions.
    if (block === undefined) continue
    const { status, outcome } = block.calls[0]!
    judged.push({ hash, succeeded: status === '0x1', outcome: outcome! })
  }
  await close()
  return judged
}

async function unlessRefused<T>(work: () => PromiseLike<T> | T): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RpcError) return undefined
    throw error
  }
}

describe('transactions of real blocks', () => {
  it('get the verdict "watched" in at most 1 of 100 cases', async () => {
    const all: Judged[] = []
    for (const name of RECORDED) for (const withGas of [false, true]) all.push(...(await judge(name, withGas)))
    const watched = all.filter(({ outcome }) => outcome.verdict === 'watched')
    const names = watched.map(({ hash, outcome }) => `${hash}: ${JSON.stringify(outcome.because[0])}`)
    expect(all.length).toBeGreaterThan(900)
    expect(all.filter(({ succeeded }) => succeeded).length).toBeGreaterThan(850)
    expect({ names, isTooMany: watched.length > all.length / 100 }).toMatchObject({ isTooMany: false })
  }, 300_000)
})
