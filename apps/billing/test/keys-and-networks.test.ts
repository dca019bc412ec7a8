import { DEVNET_ACCOUNTS, DEVNET_ROLES, type Devnet, fundBuyer, startDevnet, USDC_ADDRESS } from '@upfront/devnet'
import type { Payment } from '@upfront/protocol'
import { createTestClient, http } from 'viem'
import { runBilling } from './support/billing.js'
import { makeRequirements, sign } from './support/buyer.js'
import type { RunningBilling } from './support/stand.js'
import { stores } from './support/stores.js'
import { until } from './support/until.js'

const [first, second] = DEVNET_ROLES.facilitators
const BUYER = DEVNET_ACCOUNTS[8] ?? DEVNET_ROLES.buyer
const postgres = stores().find(({ name }) => name === 'Postgres')
const missing = postgres?.missing ?? null

describe('after a key or a network was removed from the settings', () => {
  const test = missing === null ? it : it.skip
  let devnet: Devnet
  let variables: Record<string, string>
  const running: RunningBilling[] = []

  const run = async (more: NodeJS.ProcessEnv) => {
    const billing = await runBilling(devnet.rpcUrl, { recoveryMs: '200', ...variables, ...more })
    running.push(billing)
    return billing
  }
  const stop = async () => {
    for (const billing of running.splice(0)) await billing.close()
  }
  const anvil = () => createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
  const authorize = async (billing: RunningBilling, offer: Parameters<typeof makeRequirements>[0]) => {
    const result = await billing.authorize(await sign(makeRequirements(offer), BUYER))
    if (result.outcome !== 'authorized') throw new Error(result.reason)
    return result.payment
  }
  const untilState = (billing: RunningBilling, id: string, state: Payment['state'], between?: () => Promise<unknown>) =>
    until(
      () => billing.payment(id),
      (payment) => payment.state === state,
      between,
    )

  beforeAll(async () => {
    if (missing !== null) return console.warn(`skipped: ${missing}`)
    await postgres?.start()
    devnet = await startDevnet()
    // Enough for one payment of the usual maximum.
    await fundBuyer(devnet.rpcUrl, BUYER, { amount: 150_000n })
  })
  beforeEach(async () => {
    if (missing === null) variables = (await postgres?.variables()) ?? {}
  })
  afterEach(stop)
  afterAll(async () => {
    await devnet?.stop()
    await postgres?.stop()
  })

  // Must run first: the next one moves the chain's time ahead of the machine's.
  test('an authorization on the removed network expires at its deadline', async () => {
    const before = await run({ FACILITATOR_PRIVATE_KEYS: first.privateKey })
    const { id } = await before.authorizeNew(makeRequirements({ maxTimeoutSeconds: 15 }))
    await stop()
    const tokens = { [USDC_ADDRESS]: { name: 'USDC', version: '2', decimals: 6 } }
    const CHAINS = JSON.stringify({ 'eip155:1337': { rpcUrl: devnet.rpcUrl, tokens } })
    await expect(run({ CHAINS })).rejects.toThrow('CHAINS')
    const other = await startDevnet({ chainId: 1337 })
    try {
      const after = await run({ CHAINS: CHAINS.replace(devnet.rpcUrl, other.rpcUrl) })
      await untilState(after, id, 'expired')
    } finally {
      await stop()
      await other.stop()
    }
  })

  test('a charge for the removed key fails at its deadline and frees its reservation; the key is not offered', async () => {
    // The key is there, but signs nothing because gas is above maxFeePerGas.
    const tokens = { [USDC_ADDRESS]: { name: 'USDC', version: '2', decimals: 6 } }
    const chain = { rpcUrl: devnet.rpcUrl, tokens, maxFeePerGas: '1' }
    const CHAINS = JSON.stringify({ 'eip155:31337': chain })
    const before = await run({ FACILITATOR_PRIVATE_KEYS: first.privateKey, CHAINS })
    const charged = await authorize(before, { facilitator: first.address, maximum: '100000' })
    await before.charge(charged.id, '100000', { waitMilliseconds: 0 })
    await stop()
    const after = await run({ FACILITATOR_PRIVATE_KEYS: second.privateKey })
    const payload = await sign(makeRequirements({ facilitator: second.address }), BUYER)
    expect(await after.authorize(payload)).toMatchObject({ reason: 'permit2_insufficient_balance' })
    const { body } = await until(
      () => after.send('/supported'),
      ({ body: supported }) =>
        JSON.stringify(supported).includes(`"facilitatorAddress":"${second.address.toLowerCase()}"`),
    )
    expect(JSON.stringify((body as { kinds: unknown }).kinds)).not.toContain(first.address.toLowerCase())
    await anvil().increaseTime({ seconds: 700 })
    await untilState(after, charged.id, 'failed', () => anvil().mine({ blocks: 1 }))
    expect(await after.payment(charged.id)).toMatchObject({ reason: 'permit2_deadline_expired', transaction: null })
    expect((await authorize(after, { facilitator: second.address, maxTimeoutSeconds: 3_000 })).state).toBe('authorized')
  })
})
