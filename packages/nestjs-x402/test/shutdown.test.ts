import { signPayment } from './app/buyer.js'
import { DurableScriptedFacilitator } from './app/facilitator.js'
import { ADAPTERS, paid, runs, startSeller } from './app/seller.js'

it.each(ADAPTERS)('an app that closes on %s first stores the charge of a disconnected client', async (adapter) => {
  runs.length = 0
  const facilitator = new DurableScriptedFacilitator()
  const seller = await startSeller(facilitator, { adapter, routes: { 'GET /work': paid() } })
  let stored = false
  const { onSettle } = facilitator
  facilitator.onSettle = async (requirements) => {
    await new Promise((resolve) => setTimeout(resolve, 200))
    stored = true
    return onSettle(requirements)
  }
  const control = new AbortController()
  const headers = { 'PAYMENT-SIGNATURE': await signPayment(`${seller.url}/work`) }
  const request = fetch(`${seller.url}/work?slow=100`, { headers, signal: control.signal })
  while (runs.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  control.abort()
  await expect(request).rejects.toThrow()
  seller.app.getHttpServer().closeAllConnections()
  await seller.close()
  expect(stored).toBe(true)
})
