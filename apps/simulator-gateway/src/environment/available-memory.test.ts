import { totalmem } from 'node:os'
import { availableMemory } from './available-memory.js'

const { constrainedMemory } = process

afterEach(() => {
  process.constrainedMemory = constrainedMemory
})

it.each([
  ["the cgroup's limit", 2 ** 20, 2 ** 20],
  ["the machine's memory where the cgroup has no limit", 0, totalmem()],
  ["the machine's memory where the cgroup may have more", 2 ** 60, totalmem()],
])('availableMemory() is %s', (_, limit, expected) => {
  process.constrainedMemory = () => limit
  expect(availableMemory()).toBe(expected)
})
