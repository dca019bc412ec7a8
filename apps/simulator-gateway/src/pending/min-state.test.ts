import type { Chain, Preconfirmed } from '@upfront/chain'
import { MinState } from './min-state.js'

const preconfirmed = { enabled: false } as Preconfirmed

/** A chain with this head that counts how often it is asked for it. */
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
  it('shares head polls among a thousand waiting requests and rejects them after 500 ms', async () => {
    const chain = chainAt(7n)
    const state = new MinState(chain as unknown as Chain, preconfirmed)
    const waiting = Array.from({ length: 1_000 }, (_, index) => state.createWait(String(8 + index))())
    const refused = await Promise.allSettled(waiting)
    expect(refused.every(({ status }) => status === 'rejected')).toBe(true)
    expect(chain.asked).toBeLessThan(1_000)
    await expect(waiting[0]).rejects.toThrow('this replica has not reached block 8 within 500 ms')
  })

  it('releases only the requests whose block has been reached', async () => {
    const chain = chainAt(7n)
    const state = new MinState(chain as unknown as Chain, preconfirmed)
    await state.createWait('7')()
    const next = state.createWait('latest; block=8')()
    const later = state.createWait('9')()
    chain.number = 8n
    await next
    await expect(later).rejects.toThrow('block 9')
    expect(() => state.createWait('soon')).toThrow('upfront-min-state: expected')
  })
})
