import { Latencies } from './latencies.js'

describe('Latencies', () => {
  it('has no threshold for few samples, then the 95th percentile of the recent ones', () => {
    const latencies = new Latencies()
    for (let sample = 1; sample <= 19; sample += 1) latencies.add(5)
    expect(latencies.slowMs).toBeUndefined()
    for (let sample = 1; sample <= 100; sample += 1) latencies.add(sample % 10 === 0 ? 90 : 10)
    expect(latencies.slowMs).toBe(90)
    for (let sample = 1; sample <= 72; sample += 1) latencies.add(7)
    expect(latencies.slowMs).toBe(7)
  })
})
