import { serve } from '@hono/node-server'
import { HTTPFacilitatorClient, x402ResourceServer } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { UptoEvmScheme } from '@x402/evm/upto/server'
import { bazaarResourceServerExtension, declareDiscoveryExtension } from '@x402/extensions/bazaar'
import { paymentMiddleware, setSettlementOverrides } from '@x402/hono'
import { Hono } from 'hono'
import { facilitatorUrl, fixed, metered, network, port } from './terms.js'

const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }))
  .register(network, new ExactEvmScheme())
  .register(network, new UptoEvmScheme())
  .registerExtension(bazaarResourceServerExtension)

const extensions = declareDiscoveryExtension({ output: { example: { celsius: 21 } } })

const app = new Hono()
app.use(
  paymentMiddleware({ 'GET /weather': { accepts: fixed, extensions }, 'GET /words': { accepts: metered } }, server),
)
app.get('/weather', (context) => context.json({ celsius: 21 }))
app.get('/words', (context) => {
  const words = (context.req.query('text') ?? '').split(/\s+/).filter(Boolean).length
  // 0.1 cents per word.
  setSettlementOverrides(context, { amount: String(Math.min(words * 1_000, 100_000)) })
  return context.json({ words })
})

serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, () => console.log(`http://127.0.0.1:${port}`))
