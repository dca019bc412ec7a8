import { DEVNET_ROLES, type Devnet, startDevnet } from '@upfront/devnet'
import { createLogger } from '@upfront/service'
import { runBilling, TOKEN } from './support/billing.js'
import { sign } from './support/buyer.js'
import type { RunningBilling } from './support/stand.js'

describe('the log of billing at level trace', () => {
  let devnet: Devnet
  let billing: RunningBilling
  let output = ''
  beforeAll(async () => {
    devnet = await startDevnet()
    const write = (line: string) => {
      output += line
    }
    const logger = createLogger({ level: 'trace', destination: { write } })
    billing = await runBilling(devnet.rpcUrl, {}, logger)
  })
  afterAll(async () => {
    await billing?.close()
    await devnet?.stop()
  })

  it('contains the payment ID, but no key, token, signature or signed transaction', async () => {
    const payload = await sign()
    const { signature } = payload.payload as { signature: string }
    const forged = { ...payload, payload: { ...payload.payload, signature: `${signature.slice(0, -4)}0000` } }
    expect(await billing.authorize(forged)).toMatchObject({ outcome: 'refused' })
    const authorized = await billing.authorize(payload)
    if (authorized.outcome !== 'authorized') throw new Error(authorized.reason)
    const { id } = authorized.payment
    const { payment } = await billing.charge(id, '30000')
    expect(payment.state).toBe('settled')
    expect((await billing.settle(payload, '1000')).body).toMatchObject({ success: false })
    await billing.send('/payments', { token: 'not-the-token' })

    const lines = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { paymentId?: string })
    expect(lines.some(({ paymentId }) => paymentId === id)).toBe(true)
    const secrets = [
      DEVNET_ROLES.facilitators[0].privateKey.slice(2),
      TOKEN,
      'not-the-token',
      signature.slice(2, 66),
      signature.slice(66, 130),
    ]
    for (const secret of secrets) expect(output.toLowerCase()).not.toContain(secret.toLowerCase())
    // A raw type-2 transaction is far longer than a hash; nothing signed is that short.
    expect(output).not.toMatch(/0x02f8[0-9a-f]{100}/)
  })
})
