import { CircuitBreaker } from './circuit-breaker.js'

const open = () => {
  const breaker = new CircuitBreaker({ threshold: 3, shortest: 100, longest: 300 })
  for (let count = 0; count < 3; count++) breaker.failed(1_000)
  return breaker
}

it('opens after 3 failures in a row', () => {
  const breaker = new CircuitBreaker({ threshold: 3, shortest: 100, longest: 300 })
  breaker.failed(0)
  breaker.failed(0)
  breaker.succeeded()
  breaker.failed(0)
  breaker.failed(0)
  expect(breaker.admit(0)).toBe(0)
  breaker.failed(0)
  expect(breaker.admit(40)).toBe(60)
})

it('admits one probe after the shortest wait', () => {
  const breaker = open()
  expect(breaker.admit(1_100)).toBe(0)
  expect(breaker.admit(1_100)).toBeGreaterThan(0)
})

it('closes after a probe succeeds', () => {
  const breaker = open()
  breaker.admit(1_100)
  breaker.succeeded()
  expect([breaker.admit(1_100), breaker.admit(1_100)]).toEqual([0, 0])
})

it('doubles the wait with each failed probe, up to the longest', () => {
  const breaker = open()
  const waits: number[] = []
  for (let now = 1_000, probe = 0; probe < 4; probe++) {
    now += breaker.admit(now)
    breaker.admit(now)
    breaker.failed(now)
    waits.push(breaker.admit(now))
  }
  expect(waits).toEqual([200, 300, 300, 300])
})
