import type { Address } from '@upfront/protocol'
import type { SimulationPlan } from '../plan/simulation-plan.js'
import { namedAccounts } from './named-accounts.js'

const ROUTER: Address = `0x${'aa'.repeat(20)}`
const word = (digits: string) => digits.padStart(64, '0')

function planOf(...inputs: string[]): SimulationPlan {
  return { blocks: [{ calls: inputs.map((input) => ({ to: ROUTER, input })) }] } as unknown as SimulationPlan
}

describe('namedAccounts', () => {
  const pool: Address = `0x${'b1'.repeat(20)}`

  it('returns each word of the input that is an address, once', () => {
    const amount = word('f'.repeat(32))
    const input = `0x12345678${word(pool.slice(2))}${amount}${'ff'.repeat(32)}${word(pool.slice(2))}${'b1'.repeat(20)}`
    expect(namedAccounts(planOf(input, '0x', '0x1234'), new Set([ROUTER]))).toEqual([pool])
  })

  it('ignores the input of calls to other accounts', () => {
    expect(namedAccounts(planOf(`0x12345678${word(pool.slice(2))}`), new Set())).toEqual([])
  })

  it('returns at most 32 accounts', () => {
    const words = Array.from({ length: 10_000 }, (_, n) => word(`c0ffee${n.toString(16).padStart(34, '0')}`))
    expect(namedAccounts(planOf(`0x12345678${words.join('')}`), new Set([ROUTER]))).toHaveLength(32)
  })
})
