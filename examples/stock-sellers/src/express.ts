import { HTTPFacilitatorClient, x402ResourceServer } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { UptoEvmScheme } from '@x402/evm/upto/server'
import { paymentMiddleware, setSettlementOverrides } from '@x402/express'
import { bazaarResourceServerExtension, declareDiscoveryExtension } from '@x402/extensions/bazaar'
import express from 'express'
import { facilitatorUrl, fixed, metered, network, port } from './terms.js'

const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }))
  .register(network, new ExactEvmScheme())
  .register(network, new UptoEvmScheme())
  .registerExtension(bazaarResourceServerExtension)

const extensions = declareDiscoveryExtension({ output: { example: { celsius: 21 } } })

express()
  .use(
    paymentMiddleware({ 'GET /weather': { accepts: fixed, extensions }, 'GET /words': { accepts: metered } }, server),
  )
  .get('/weather', (_request, response) => void response.json({ celsius: 21 }))
  .get('/words', (request, response) => {
    const words = String(request.query.text ?? '')
      .split(/\s+/)
      .filter(Boolean).length
    // 0.1 cents per word.
    setSettlementOverrides(response, { amount: String(Math.min(words * 1_000, 100_000)) })
    response.json({ words })
  })
  .listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}`))
