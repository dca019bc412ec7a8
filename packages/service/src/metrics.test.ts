import { Metrics } from './metrics.js'

describe('Metrics.timings', () => {
  it('exports every timing on each scrape, however many were taken', async () => {
    const metrics = new Metrics()
    const timings = metrics.timings('waited_seconds', 'Time waited', ['whom', 'how'])
    for (let time = 0; time < 2_500; time += 1) timings.add(time % 2 === 0 ? 0.4 : 30, 'alice', 'long')
    timings.add(25_000, 'bob', 'longer')
    for (let look = 0; look < 2; look += 1) {
      const shown = await metrics.registry.getSingleMetricAsString('waited_seconds')
      expect(shown).toContain('waited_seconds_bucket{le="0.0005",whom="alice",how="long"} 1250')
      expect(shown).toContain('waited_seconds_bucket{le="0.05",whom="alice",how="long"} 2500')
      expect(shown).toContain('waited_seconds_count{whom="alice",how="long"} 2500')
      expect(shown).toContain('waited_seconds_bucket{le="20",whom="bob",how="longer"} 0')
      expect(shown).toContain('waited_seconds_sum{whom="bob",how="longer"} 25')
    }
  })
})
