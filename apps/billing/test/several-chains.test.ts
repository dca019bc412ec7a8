import { type Devnet, type FaultProxy, startDevnet, startFaultProxy, USDC_ADDRESS } from '@upfront/devnet'
import { runBilling } from './support/billing.js'
import { makeRequirements, sign } from './support/buyer.js'
import type { RunningBilling } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

interface Health {
  status: string
  chains: Record<string, { status: string }>
}

describe.each(oneStore())('several chains, some with a hanging node, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  let devnet: Devnet
  let hung: FaultProxy
  let otherDevnet: Devnet
  let other: FaultProxy
  let billing: RunningBilling

  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    await store.start()
    devnet = await startDevnet()
    hung = await startFaultProxy(devnet.rpcUrl)
    hung.fault = 'silent'
    otherDevnet = await startDevnet({ chainId: 1337 })
    other = await startFaultProxy(otherDevnet.rpcUrl)
    const tokens = { [USDC_ADDRESS]: { name: 'USDC', version: '2', decimals: 6 } }
    const others = [1, 2, 3].map((id) => [`eip155:${id}`, { rpcUrl: hung.url, tokens }])
    // Longer than a charge takes on another chain; a request to a hanging node makes four attempts.
    billing = await runBilling(devnet.rpcUrl, {
      CHAINS: JSON.stringify({
        ...Object.fromEntries(others),
        'eip155:1337': { rpcUrl: other.url, tokens },
        'eip155:31337': { rpcUrl: devnet.rpcUrl, tokens },
      }),
      nodeTimeoutMs: '3000',
      recoveryMs: '200',
      ...(await store.variables()),
    })
  })
  afterAll(async () => {
    await billing?.close()
    await hung?.stop()
    await other?.stop()
    await otherDevnet?.stop()
    await devnet?.stop()
    await store.stop()
  })

  test('start, settle and report their health independently', async () => {
    const { id } = await billing.authorizeNew()
    expect((await billing.charge(id, '700')).payment.state).toBe('settled')
    const { status, body } = await billing.send('/health')
    expect(status).toBe(200)
    const { status: overall, chains } = body as Health
    expect(overall).toBe('degraded')
    expect(chains['eip155:31337']).toMatchObject({ status: 'ok' })
    expect(chains['eip155:1']).toMatchObject({ status: 'unreachable' })
  })

  test('settle on one chain while 30 charges of another wait for its hanging node', async () => {
    const stuck = await Promise.all(
      Array.from({ length: 30 }, () =>
        billing.authorizeNew(makeRequirements({ network: 'eip155:1337', maximum: '1000' })),
      ),
    )
    other.fault = 'silent'
    for (const { id } of stuck) await billing.charge(id, '1', { waitMilliseconds: 0 })
    const charges = Array.from({ length: 20 }, async (_, index) => {
      const { id } = await billing.authorizeNew(makeRequirements({ maximum: '1000' }))
      return (await billing.charge(id, String(index + 1))).payment.state
    })
    expect(new Set(await Promise.all(charges))).toEqual(new Set(['settled']))
    expect((await billing.payment(stuck[0]?.id ?? '')).state).toBe('charging')
    // Let the waiting charges settle.
    other.fault = undefined
    for (const { id } of stuck) {
      await until(
        () => billing.payment(id),
        ({ state }) => state === 'settled',
      )
    }
  })

  test('answer 503 with the reason if too many calls wait for a hanging node', async () => {
    const requirements = makeRequirements({ network: 'eip155:1337', maximum: '1000' })
    const payloads = await Promise.all(Array.from({ length: 40 }, () => sign(requirements)))
    other.fault = 'silent'
    const answers = Array.from({ length: 400 }, (_, at) => billing.verify(payloads[at % payloads.length]!))
    // On a busy machine others may already have given up waiting, which is also a 503.
    const tooMany = { error: { code: 'unavailable', message: expect.stringMatching(/^too many/) } }
    const refused = await Promise.any(
      answers.map(async (answer) => {
        const { status, body, headers } = await answer
        expect({ status, body }).toMatchObject({ status: 503, body: tooMany })
        return { headers }
      }),
    )
    expect(refused.headers.get('retry-after')).toBe('20')
    // Calls that waited get their answers, and new ones are accepted.
    other.fault = undefined
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(20)
    expect((await billing.verify(payloads[0]!)).body).toMatchObject({ isValid: true })
  })
})
