import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Payment } from '@upfront/protocol'
import { BillingFacilitator, FileJournal } from '../src/index.js'
import { type Fault, payment, ScriptedBilling, TOKEN } from './scripted-billing.js'

let billing: ScriptedBilling
let facilitator: BillingFacilitator
let log: string[]

beforeEach(async () => {
  billing = new ScriptedBilling()
  await billing.start()
  log = []
  facilitator = new BillingFacilitator({
    url: billing.url,
    token: TOKEN,
    receiptWait: 100,
    acknowledgementWait: 200,
    log: (level, message) => log.push(`${level}: ${message}`),
  })
})
afterEach(async () => {
  await facilitator.close(0)
  await billing.stop()
})

const terms = { route: 'GET /metered', handlerSeconds: 10 }
const until = async (condition: () => boolean | Promise<boolean>) => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10))
}
/** Whether a call fails without reaching billing because the circuit is open. */
const isRefusedAtOnce = async (signed: ReturnType<typeof payment>) => {
  let message = ''
  await expect(
    facilitator.verify(signed, signed.accepted, terms).catch((error: Error) => {
      message = error.message
      throw error
    }),
  ).rejects.toThrow()
  return message.includes('has not been answering')
}

describe('calls to billing', () => {
  it('verify authorizes with the route and the seconds that its handler may take', async () => {
    const signed = payment()
    expect(await facilitator.verify(signed, signed.accepted, terms)).toMatchObject({ isValid: true })
    expect(billing.seen).toEqual([
      expect.objectContaining({
        authorization: `Bearer ${TOKEN}`,
        body: {
          paymentPayload: signed,
          paymentRequirements: signed.accepted,
          route: 'GET /metered',
          minimumValiditySeconds: 10,
        },
      }),
    ])
  })

  it('settle charges with an idempotency key derived from the payment ID', async () => {
    const signed = payment()
    await facilitator.verify(signed, signed.accepted, terms)
    const receipt = await facilitator.settle(signed, { ...signed.accepted, amount: '30000' }, { reason: 'usage' })
    expect(receipt).toMatchObject({ success: true, amount: '30000', transaction: `0x${'ab'.repeat(32)}` })
    expect(billing.calls('/charge')).toEqual([
      expect.objectContaining({
        key: 'charge-pay_1',
        body: { amount: '30000', reason: 'usage', waitMilliseconds: 100 },
      }),
    ])
  })

  it('release releases the payment', async () => {
    const signed = payment()
    await facilitator.verify(signed, signed.accepted, terms)
    await facilitator.release(signed, signed.accepted, 'failure')
    expect(billing.payments.get('pay_1')?.state).toBe('released')
  })

  it('settle finds a payment that was authorized before a restart', async () => {
    const signed = payment()
    await facilitator.verify(signed, signed.accepted, terms)
    const next = new BillingFacilitator({ url: billing.url, token: TOKEN })
    expect(await next.settle(signed, signed.accepted)).toMatchObject({ success: true })
    await next.close(0)
  })

  it('getSupported returns the kinds, and describeAsset the token or undefined', async () => {
    expect((await facilitator.getSupported()).kinds).toHaveLength(1)
    expect(await facilitator.describeAsset('eip155:31337', `0x${'05'.repeat(20)}`)).toEqual({
      decimals: 6,
      name: 'USDC',
      version: '2',
    })
    expect(await facilitator.describeAsset('eip155:31337', `0x${'06'.repeat(20)}`)).toBeUndefined()
  })
})

describe('answers of billing', () => {
  it.each<[string, object, object]>([
    [
      'mined, not yet confirmed',
      { state: 'submitted', transaction: `0x${'cd'.repeat(32)}`, blockNumber: 7n },
      { success: true, transaction: `0x${'cd'.repeat(32)}` },
    ],
    [
      'submitted',
      { state: 'submitted', transaction: `0x${'cd'.repeat(32)}` },
      { success: false, errorReason: 'settlement_pending', transaction: `0x${'cd'.repeat(32)}` },
    ],
    [
      'doubtful',
      { state: 'submitted', transaction: `0x${'cd'.repeat(32)}`, doubt: 'permit2_insufficient_balance' },
      { success: false, errorReason: 'settlement_doubtful', transaction: `0x${'cd'.repeat(32)}` },
    ],
    ['charging', { state: 'charging' }, { success: false, errorReason: 'settlement_pending', transaction: '' }],
    [
      'failed',
      { state: 'failed', reason: 'permit2_insufficient_balance' },
      { success: false, errorReason: 'permit2_insufficient_balance' },
    ],
  ])('a payment that is %s becomes the matching receipt', async (_state, end, receipt) => {
    billing.settle = () => end
    const signed = payment()
    await facilitator.verify(signed, signed.accepted, terms)
    expect(await facilitator.settle(signed, signed.accepted)).toMatchObject(receipt)
  })

  it('a repeated settle uses the same key and returns the new state', async () => {
    billing.settle = () => ({ state: 'charging' })
    const signed = payment()
    await facilitator.verify(signed, signed.accepted, terms)
    const settle = () => facilitator.settle(signed, { ...signed.accepted, amount: '5' })
    expect(await settle()).toMatchObject({ success: false, errorReason: 'settlement_pending' })
    for (const [id, charging] of billing.payments) billing.payments.set(id, { ...charging, state: 'settled' })
    expect(await settle()).toMatchObject({ success: true, amount: '5' })
    expect(billing.calls('/charge').map(({ key }) => key)).toEqual(['charge-pay_1', 'charge-pay_1'])
  })

  it('a zero charge becomes a success without a transaction', async () => {
    const signed = payment()
    await facilitator.verify(signed, signed.accepted, terms)
    const receipt = await facilitator.settle(signed, { ...signed.accepted, amount: '0' })
    expect(receipt).toMatchObject({ success: true, amount: '0', transaction: '' })
  })

  it('20 concurrent verify calls use different keys, and one of them is valid', async () => {
    const signed = payment()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => facilitator.verify(signed, signed.accepted, terms)),
    )
    expect(answers.filter(({ isValid }) => isValid)).toHaveLength(1)
    expect(new Set(billing.seen.map(({ key }) => key)).size).toBe(20)
  })
})

describe('a call whose answer is lost or faulty', () => {
  it.each<Fault>(['lose the answer', 'reset', 'internal error', 'unavailable', 'html', 'truncated'])(
    'is repeated with the same key (%s), and takes effect once',
    async (fault) => {
      const signed = payment()
      billing.faults = [fault]
      expect(await facilitator.verify(signed, signed.accepted, terms)).toMatchObject({ isValid: true })
      billing.faults = [fault]
      expect(await facilitator.settle(signed, { ...signed.accepted, amount: '5' })).toMatchObject({ success: true })
      expect(new Set(billing.calls('/internal/payments').map(({ key }) => key)).size).toBe(1)
      expect(billing.calls('/charge').map(({ key }) => key)).toEqual(['charge-pay_1', 'charge-pay_1'])
      expect(billing.payments.get('pay_1')).toMatchObject({ state: 'settled', charge: 5n })
    },
  )
})

describe('while billing is down', () => {
  it('verify rejects with retryAfterSeconds, and without a request once the circuit is open', async () => {
    await billing.stop()
    const signed = payment()
    await expect(facilitator.verify(signed, signed.accepted, terms)).rejects.toMatchObject({
      name: 'BillingUnavailable',
      retryAfterSeconds: expect.any(Number),
      arrived: false,
    })
    await until(() => isRefusedAtOnce(signed))
    expect(facilitator.unacknowledged).toBe(0)
    await billing.start()
  })

  it('a charge is pending, and repeated with the same key until billing is back', async () => {
    const signed = payment()
    await facilitator.verify(signed, signed.accepted, terms)
    await billing.stop()
    const receipt = await facilitator.settle(signed, { ...signed.accepted, amount: '30000' })
    expect(receipt).toMatchObject({ success: false, errorReason: 'settlement_pending' })
    expect(facilitator.unacknowledged).toBe(1)
    await billing.start()
    await until(() => facilitator.unacknowledged === 0)
    expect(billing.payments.get('pay_1')).toMatchObject({ state: 'settled', charge: 30_000n })
    expect(billing.calls('/charge').every(({ key }) => key === 'charge-pay_1')).toBe(true)
    expect(log.at(-1)).toBe('info: a charge is acknowledged')
  })

  it('a charge is given up at the deadline of its authorization, and logged', async () => {
    const signed = payment(1)
    await facilitator.verify(signed, signed.accepted, terms)
    await billing.stop()
    await facilitator.settle(signed, signed.accepted)
    await until(() => facilitator.unacknowledged === 0)
    expect(log.at(-1)).toBe('error: a charge is given up: the authorization has ended')
    await billing.start()
  })

  it('a release is repeated until billing is back', async () => {
    const signed = payment()
    await facilitator.verify(signed, signed.accepted, terms)
    await billing.stop()
    await facilitator.release(signed, signed.accepted, 'failure')
    await billing.start()
    await until(() => facilitator.unacknowledged === 0)
    expect(billing.payments.get('pay_1')?.state).toBe('released')
  })
})

describe('verify whose answers are all lost', () => {
  it('leaves the authorization usable: the next call returns the first result, once', async () => {
    const signed = payment()
    billing.faults = Array.from({ length: 50 }, () => 'lose the answer' as const)
    await expect(facilitator.verify(signed, signed.accepted, terms)).rejects.toThrow()
    // The circuit is open for a time, which may already be over on a busy machine.
    await until(() => isRefusedAtOnce(signed))
    billing.faults = []
    const again = () => facilitator.verify(signed, signed.accepted, terms).catch(() => undefined)
    let answer = await again()
    while (answer === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      answer = await again()
    }
    expect(answer).toMatchObject({ isValid: true })
    expect(await facilitator.verify(signed, signed.accepted, terms)).toMatchObject({ isValid: false })
    expect(billing.payments.size).toBe(1)
  })

  it.each([
    ['expired', 'permit2_deadline_expired'],
    ['released', 'permit2_invalid_nonce'],
  ] as const)('refuses the next call if the reservation is %s by then', async (state, invalidReason) => {
    const signed = payment()
    billing.faults = Array.from({ length: 50 }, () => 'lose the answer' as const)
    await expect(facilitator.verify(signed, signed.accepted, terms)).rejects.toThrow()
    billing.faults = []
    const [reserved] = [...billing.payments.values()] as [Payment]
    billing.payments.set(reserved.id, { ...reserved, state })
    const again = () => facilitator.verify(signed, signed.accepted, terms).catch(() => undefined)
    let answer = await again()
    while (answer === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      answer = await again()
    }
    expect(answer).toMatchObject({ isValid: false, invalidReason })
  })
})

describe('a charge that billing has not acknowledged', () => {
  let directory: string
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'journal-'))
  })
  afterEach(() => rm(directory, { recursive: true }))

  const start = () =>
    new BillingFacilitator({
      url: billing.url,
      token: TOKEN,
      receiptWait: 100,
      acknowledgementWait: 100,
      journal: new FileJournal(directory, (level, message) => log.push(`${level}: ${message}`)),
      log: (level, message) => log.push(`${level}: ${message}`),
    })

  it('survives a restart in the journal, and is charged once at the next start', async () => {
    const first = start()
    const charges = Array.from({ length: 4 }, () => payment())
    for (const signed of charges) await first.verify(signed, signed.accepted, terms)
    await billing.stop()
    await Promise.all(charges.map((signed) => first.settle(signed, { ...signed.accepted, amount: '30000' })))
    await first.close(0)
    expect(await readdir(directory)).toHaveLength(4)
    expect((await readFile(join(directory, (await readdir(directory))[0]!), 'utf8')).includes('11'.repeat(65))).toBe(
      false,
    )

    await writeFile(join(directory, 'torn.json'), '{"network":')
    await billing.start()
    const second = start()
    await until(() => [...billing.payments.values()].every(({ state }) => state === 'settled'))
    await second.close(1_000)
    expect([...billing.payments.values()].map(({ charge }) => charge)).toEqual(Array(4).fill(30_000n))
    expect(await readdir(directory)).toEqual(['torn.json'])
    expect(log).toContain('error: a file in the journal cannot be read as a charge')
  })

  it('stays in the journal if billing rejects the token after a restart', async () => {
    const first = start()
    const signed = payment()
    await first.verify(signed, signed.accepted, terms)
    await billing.stop()
    await first.settle(signed, signed.accepted)
    await first.close(0)
    await billing.start()
    const stranger = new BillingFacilitator({ url: billing.url, token: 'wrong', journal: new FileJournal(directory) })
    await until(() => billing.seen.some(({ authorization }) => authorization === 'Bearer wrong'))
    await stranger.close(0)
    expect(await readdir(directory)).toHaveLength(1)
  })

  it('is journaled and repeated if billing rejects the token at the first attempt', async () => {
    const first = start()
    const signed = payment()
    await first.verify(signed, signed.accepted, terms)
    await first.close(0)
    const stranger = new BillingFacilitator({ url: billing.url, token: 'wrong', journal: new FileJournal(directory) })
    expect(await stranger.settle(signed, signed.accepted)).toMatchObject({ errorReason: 'settlement_pending' })
    await stranger.close(0)
    expect(await readdir(directory)).toHaveLength(1)
    const second = start()
    await until(() => billing.payments.get('pay_1')?.state === 'settled')
    await second.close(1_000)
    expect(await readdir(directory)).toEqual([])
  })

  it('is not overwritten in the journal by another amount', async () => {
    const journal = new FileJournal(directory)
    const charge = { network: 'eip155:1', payer: '0xaa', nonce: '7', deadline: '1', amount: '30000', reason: 'metered' }
    await journal.add(charge)
    await journal.add({ ...charge, amount: '40000' })
    expect(await journal.list()).toEqual([charge])
  })

  it('is charged and logged as an error if the journal cannot be written', async () => {
    await rm(directory, { recursive: true })
    await writeFile(directory, 'no directory')
    const first = start()
    const signed = payment()
    await first.verify(signed, signed.accepted, terms)
    await billing.stop()
    expect(await first.settle(signed, signed.accepted)).toMatchObject({ errorReason: 'settlement_pending' })
    expect(log.some((line) => line.includes('could not be written to the journal'))).toBe(true)
    await billing.start()
    await until(() => first.unacknowledged === 0)
    expect(billing.payments.get('pay_1')?.state).toBe('settled')
    await first.close(0)
  })
})

it('check resolves if billing answers and accepts the token', async () => {
  await expect(facilitator.check()).resolves.toBeUndefined()
  const stranger = new BillingFacilitator({ url: billing.url, token: 'wrong' })
  await expect(stranger.check()).rejects.toMatchObject({ status: 401 })
  await stranger.close(0)
})

it('verify rejects a 401 without a retry', async () => {
  const stranger = new BillingFacilitator({ url: billing.url, token: 'wrong' })
  const signed = payment()
  await expect(stranger.verify(signed, signed.accepted, terms)).rejects.toMatchObject({ status: 401 })
  expect(billing.seen).toHaveLength(1)
  await stranger.close(0)
})
