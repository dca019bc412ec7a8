import type { Flashblock } from '@upfront/chain'
import { StreamPrinter } from './stream-printer.js'

const flashblock = (index: number) =>
  ({ blockNumber: 7n, index, transactions: ['0x01'], gasUsed: 21_000n }) as unknown as Flashblock
const shown = (index: number) =>
  ({ kind: 'preconfirmed', block: 7n, flashblock: index, ageMs: 1, payloadId: '0x01' }) as const

it('prints each followed block once when it is seen and once when its state is carried or not', () => {
  const lines: string[] = []
  const watch = new StreamPrinter((line) => lines.push(line.slice(14)))
  const seen = { block: '8', hash: '0x08' } as const
  for (let look = 0; look < 2; look++) watch.followed([seen])
  const numbers = { transactions: 3, read: 2, written: 9, tookMs: 1.5 }
  const cold = {
    block: '9',
    hash: '0x09',
    reorganised: true,
    carried: false,
    reason: 'late',
    detail: 'not in time',
  } as const
  for (let look = 0; look < 2; look++) watch.followed([{ ...seen, carried: true, ...numbers }, cold])
  expect(lines).toEqual([
    'gateway: follows block 8',
    'gateway: carried its state over block 8: 3 transactions, 2 values read, 9 written, 1.5 ms',
    'gateway: block 9 starts with no state: late (not in time)',
  ])
})

it('prints each state once, when it changes', () => {
  const lines: string[] = []
  const watch = new StreamPrinter((line) => lines.push(line.slice(14)))
  for (let look = 0; look < 2; look++) {
    watch.head(6n)
    watch.gateway({ kind: 'latest', block: 6n })
  }
  watch.flashblock(flashblock(0))
  for (let look = 0; look < 2; look++) watch.gateway(shown(0))
  watch.gatewayProblem('answers HTTP 503')
  watch.gatewayProblem('answers HTTP 503')
  watch.gateway({ kind: 'latest', block: 7n })
  expect(lines.map((line) => line.replace(/\d+ ms/, 'n ms'))).toEqual([
    'head: block 6 is sealed',
    'gateway: pending is the head, block 6',
    'block 7 flashblock 0: +1 transactions, 0.021 Mgas so far',
    'gateway: shows block 7 flashblock 0, n ms after it came',
    'gateway: answers HTTP 503',
    'gateway: pending is the head, block 7',
  ])
})
