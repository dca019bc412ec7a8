import type { Address } from '@upfront/protocol'
import type { StateRead } from '@upfront/simulation'
import { writeRead } from '../border/records.js'
import { readReads } from '../values-text.js'
import { Job } from './job.js'

const read = (digit: string): StateRead => ({ kind: 'nonce', address: `0x${digit.repeat(40)}` as Address })
const [ONE, TWO, THREE, FOUR] = ['1', '2', '3', '4'].map(read) as [StateRead, StateRead, StateRead, StateRead]

it('Job.lacks asks only for reads that are not held, and counts the certain ones', () => {
  const held = { layers: new Map(), cleared: 0 }
  const job = new Job({ id: 1, kind: 'simulate', key: '0x5', layers: held.layers, text: '' }, held, () => undefined)
  const lacks = (reads: StateRead[], certain: number, known: string) => {
    const text = `0x${reads.length.toString(16)}\n${reads.map(writeRead).join('')}0x${certain.toString(16)}\n`
    return job.lacks(text, known)
  }
  expect(readReads(lacks([ONE, TWO, THREE, FOUR], 2, '7\n-\n-\n8\n')!)).toEqual({ reads: [TWO, THREE], certain: 1 })
  expect(job.missing()).toBe(`0x2\n${writeRead(TWO)}${writeRead(THREE)}`)
  const many = Array.from({ length: 20 }, () => ONE)
  expect(readReads(lacks(many, 17, '-\n'.repeat(20))!).certain).toBe(17)
  expect(lacks([ONE], 1, '7\n')).toBeUndefined()
})
