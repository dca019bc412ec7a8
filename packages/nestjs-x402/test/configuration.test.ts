import { Controller, Get, type Type } from '@nestjs/common'
import { PaidRoute, type PaidRouteOptions } from '../src/index.js'
import { DurableScriptedFacilitator, ScriptedFacilitator } from './app/facilitator.js'
import { paid, startSeller, USDC, WorkController } from './app/seller.js'

const without = (field: string) => {
  const { [field as 'unset']: _left, ...charge } = paid().charge
  return paid({ charge: charge as never })
}
const option = paid().accepts as PaidRouteOptions['accepts'] & object
const start = (routes: Record<string, PaidRouteOptions>, controllers: Type[] = [WorkController]) =>
  startSeller(new ScriptedFacilitator(), { routes, controllers }).then((seller) => seller.close())

describe('an app does not start', () => {
  it.each(['unset', 'failure', 'timeout', 'partial'])('if charge.%s is missing', async (field) => {
    await expect(start({ 'GET /work': without(field) })).rejects.toThrow(
      `routes["GET /work"].charge.${field}: is missing`,
    )
  })

  it('if charge.failure lacks 5xx', async () => {
    const charge = { ...paid().charge, failure: { '4xx': 'nothing' } as never }
    await expect(start({ 'GET /work': paid({ charge }) })).rejects.toThrow(
      'routes["GET /work"].charge.failure.5xx: is missing',
    )
  })

  it.each([
    ['charge.unset', paid({ charge: { ...paid().charge, unset: '$0.11' } })],
    ['charge.partial', paid({ charge: { ...paid().charge, partial: 'everything' as never } })],
    ['charge.invalid', paid({ charge: { ...paid().charge, invalid: 'clamp' as never } })],
    ['accepts[0].scheme', paid({ accepts: { ...option, scheme: 'batch-settlement' } as never })],
    ['accepts[0].price', paid({ accepts: { ...option, price: '0.10' } as never })],
    ['accepts[0].price', paid({ accepts: { ...option, price: '$0' } as never })],
    ['accepts[0].price', paid({ accepts: { ...option, price: '$0.0000001' } as never })],
    ['accepts[0].network', paid({ accepts: { ...option, network: 'base' } as never })],
    ['accepts[0].network', paid({ accepts: { ...option, network: 'eip155:1' } as never })],
    ['accepts[0].payTo', paid({ accepts: { ...option, payTo: '0x1' } as never })],
    ['accepts[0].asset', paid({ accepts: { ...option, asset: USDC } as never })],
    ['accepts[0].asset', paid({ accepts: { ...option, asset: undefined } as never })],
    ['accepts[0].maxTimeoutSeconds', paid({ timeout: 60_000, accepts: { ...option, maxTimeoutSeconds: 60 } as never })],
    ['accepts[0].paymentFlow', paid({ accepts: { ...option, paymentFlow: 'upfront' } as never })],
    ['accepts[0].paymentFlow', paid({ accepts: { ...option, scheme: 'exact', paymentFlow: 'escrow' } as never })],
    ['charge.failure', paid({ accepts: { ...option, scheme: 'exact', paymentFlow: 'upfront' } as never })],
    ['accepts[0].assetTransferMethod', paid({ accepts: { ...option, assetTransferMethod: 'eip3009' } as never })],
    ['extensions["bazaar"]', paid({ extensions: { bazaar: { info: {} } } as never })],
    ['ownExtensions', paid({ ownExtensions: ['bazaar'] as never })],
    ['accepts', paid({ accepts: [] })],
    ['timeout', paid({ timeout: 0 })],
    ['holdBytes', paid({ holdBytes: -1 })],
  ])('if %s is invalid, naming route and field', async (field, options) => {
    const failure = await start({ 'GET /work': options }).catch((error: Error) => error.message)
    expect(failure).toContain('GET /work')
    expect(failure).toContain(`${field}:`)
  })

  it('if a route matches no handler, naming the existing ones', async () => {
    const failure = await start({ 'GET /wrok': paid(), 'POST /work': paid(), work: paid() }).catch(
      (error: Error) => error.message,
    )
    expect(failure).toContain('routes["GET /wrok"]: matches no handler; there are GET /work')
    expect(failure).toContain('routes["POST /work"]: matches no handler')
    expect(failure).toContain('routes["work"]: expected "<METHOD> <path>"')
  })

  it('if a handler is declared paid twice', async () => {
    @Controller('twice')
    class TwiceController {
      @PaidRoute(paid())
      @Get()
      get() {
        return {}
      }
    }
    await expect(start({ 'GET /twice': paid() }, [TwiceController])).rejects.toThrow(
      'which GET /twice already makes paid',
    )
  })

  it('if a decorator lacks a rule, naming handler and field', async () => {
    @Controller('lax')
    class LaxController {
      @PaidRoute(without('timeout'))
      @Get()
      get() {
        return {}
      }
    }
    await expect(start({}, [LaxController])).rejects.toThrow(
      '@PaidRoute on LaxController.get (GET /lax).charge.timeout: is missing',
    )
  })
})

it('requires a maxTimeoutSeconds that leaves 10 s to sign on a chain with 12 s blocks', async () => {
  const offer = (maxTimeoutSeconds: number) =>
    start({ 'GET /work': paid({ timeout: 30_000, accepts: { ...option, maxTimeoutSeconds } as never }) })
  await expect(offer(30 + 14 + 9)).rejects.toThrow('accepts[0].maxTimeoutSeconds: expected at least 54')
  await expect(offer(30 + 14 + 10)).resolves.toBeUndefined()
})

describe('an app starts', () => {
  it('while its facilitator is down, and asks it again for each request', async () => {
    const facilitator = new DurableScriptedFacilitator()
    const { supported } = facilitator
    facilitator.supported = () => Promise.reject(new Error('not yet'))
    const seller = await startSeller(facilitator, {
      routes: { 'GET /work': paid({ accepts: { ...option, asset: USDC } as never }) },
    })
    expect((await fetch(`${seller.url}/work`)).status).toBe(503)
    facilitator.supported = supported
    expect((await fetch(`${seller.url}/work`)).status).toBe(402)
    await seller.close()
  })

  it('without an asset on a network whose USDC @x402/evm knows', async () => {
    const facilitator = new ScriptedFacilitator()
    facilitator.supported = async () => ({
      kinds: [
        {
          x402Version: 2,
          scheme: 'upto',
          network: 'eip155:84532',
          extra: { facilitatorAddress: `0x${'fa'.repeat(20)}` },
        },
      ],
      extensions: [],
      signers: {},
    })
    const { asset: _asset, ...rest } = option as Record<string, unknown>
    const seller = await startSeller(facilitator, {
      routes: { 'GET /work': paid({ accepts: { ...rest, network: 'eip155:84532' } as never }) },
    })
    const body = (await (await fetch(`${seller.url}/work`)).json()) as { accepts: { asset: string; amount: string }[] }
    expect(body.accepts[0]).toMatchObject({ asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e', amount: '100000' })
    await seller.close()
  })
})
