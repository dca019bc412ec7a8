import type { Chain, Preconfirmed } from '@upfront/chain'
import { MinState } from './min-state.js'

const preconfirmed = { enabled: false } as Preconfirmed

/** A chain with this head, counting how often it is asked. */
function chainAt(number: bigint) {
  const chain = {
    asked: 0,
    number,
    resolver: {
      head: async () => {
        chain.asked += 1
        return { number: chain.number }
      },
    },
  }
  return chain
}

describe('MinState', () => {
  it('asks for the head as often for a thousand requests that wait as for one', async () => {
    const chain = chainAt(7n)
    const state = new MinState(chain as unknown as Chain, preconfirmed)
    const waiting = Array.from({ length: 1_000 }, (_, index) => state.waitingFor(String(8 + index))())
    const refused = await Promise.allSettled(waiting)
    expect(refused.every(({ status }) => status === 'rejected')).toBe(true)
    expect(chain.asked).toBeLessThan(1_000)
    await expect(waiting[0]).rejects.toThrow('this replica has not reached block 8 within 500 ms')
  })

  it('lets those go on that wait for what has come, and no others', async () => {
    const chain = chainAt(7n)
    const state = new MinState(chain as unknown as Chain, preconfirmed)
    await state.waitingFor('7')()
    const next = state.waitingFor('latest; block=8')()
    const later = state.waitingFor('9')()
    chain.number = 8n
    await next
    await expect(later).rejects.toThrow('block 9')
    expect(() => state.waitingFor('soon')).toThrow('upfront-min-state: expected')
  })
})
