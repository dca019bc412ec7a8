import { OTHER_SERVICES } from '@upfront/protocol'
import { SIMULATE_DISCOVERY } from './discovery.js'

it('SIMULATE_DISCOVERY names every sold method, with as many parameters as it takes', () => {
  const text = JSON.stringify(SIMULATE_DISCOVERY)
  const sold = ['eth_simulateV1', 'upfront_simulate', 'upfront_estimateGas', 'upfront_simulateUserOperation']
  for (const name of [...sold, ...OTHER_SERVICES.map(({ name }) => name)]) expect(text).toContain(`"${name}"`)
  const most = Number(/"maxItems":(\d+)/.exec(text)?.[1] ?? Number.POSITIVE_INFINITY)
  expect(most).toBeGreaterThanOrEqual(Math.max(...OTHER_SERVICES.map(({ params }) => params.length)))
})
