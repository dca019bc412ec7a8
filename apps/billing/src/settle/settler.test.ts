import { createLogger } from '@upfront/service'
import type { Chains } from '../chain/chains.js'
import type { Environment } from '../environment/environment.js'
import type { Ledger } from '../ledger/ledger.js'
import type { PaymentRow } from '../ledger/schema.js'
import type { BillingMetrics } from '../metrics.js'
import { Settler } from './settler.js'
import type { GasPolicy } from './signers/gas-policy.js'
import type { SigningQueue } from './signers/signing-queue.js'

const { jest } = import.meta

it('waitUntilKnown returns the pending payment if the wait ends between two reads of the clock', async () => {
  const environment = { LIMITS: { recoveryMs: 3_000 } } as Environment
  const chains = { all: () => [] } as unknown as Chains
  const settler = new Settler(
    ...([{ db: {} } as Ledger, chains, {} as SigningQueue, {} as GasPolicy, {} as BillingMetrics] as const),
    environment,
    createLogger({ level: 'silent' }),
  )
  const payment = {
    id: 'pay_1',
    network: 'eip155:1',
    state: 'charging',
    blockNumber: null,
    doubt: null,
  } as unknown as PaymentRow
  const times = [1_000, 1_009, 1_020]
  const clock = jest.spyOn(Date, 'now').mockImplementation(() => times.shift() ?? 2_000)
  try {
    expect(await settler.waitUntilKnown(payment, 10)).toBe(payment)
  } finally {
    clock.mockRestore()
  }
})
