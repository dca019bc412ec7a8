import { ErrorCode, RpcError } from '@upfront/protocol'
import { CallsRan } from '@upfront/simulation'
import type { Cost } from '../limits/free-budget.js'
import { Overloaded } from '../limits/overloaded.js'
import { type RequestLimits, type SimulationContext, spending } from './simulator.js'

const GAS = 50_000_000n

async function spentOn(error: Error): Promise<bigint | undefined> {
  let spent: bigint | undefined
  const context = { spendInVain: ({ gasUsed }: Cost) => (spent = gasUsed) } as unknown as SimulationContext
  const work = async () => {
    throw error
  }
  await expect(spending({ gas: GAS } as RequestLimits, context, work)).rejects.toBe(error)
  return spent
}

describe('spending', () => {
  it('counts work that met a limit of its own at all that it may take', async () => {
    expect(await spentOn(new RpcError(ErrorCode.limitExceeded, 'the request took longer than 1 ms'))).toBe(GAS)
  })

  it('counts work that was ended for want of memory at what its time allows', async () => {
    expect(await spentOn(new Overloaded('memory is short'))).toBeLessThan(GAS)
  })

  it('counts calls that ran before one that is refused at what their time allows', async () => {
    const error = Object.assign(new RpcError(ErrorCode.nonceTooHigh, 'nonce too high'), { cause: new CallsRan() })
    expect(await spentOn(error)).toBeLessThan(GAS)
  })

  it('counts nothing where a call fails by itself', async () => {
    expect(await spentOn(new RpcError(ErrorCode.invalidParams, 'to: expected an address'))).toBeUndefined()
  })
})
