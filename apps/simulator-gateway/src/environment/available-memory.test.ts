import { availableMemory } from './available-memory.js'

it('availableMemory is a number of bytes that the machine has', () => {
  expect(availableMemory()).toBeGreaterThan(2 ** 20)
  expect(availableMemory()).toBeLessThan(2 ** 50)
})
