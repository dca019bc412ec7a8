import type { Address } from '@upfront/protocol'
import { createLogger } from '@upfront/service'
import { DELEGATED_CODE, SETTLEMENT_BATCH_CODE } from '../../chain/settlement-batch.js'
import type { Claimant } from '../../ledger/claim-work.js'
import type { PaymentRow, SignedTransactionRow } from '../../ledger/schema.js'
import type { Settlement } from '../signers/signing-queue.js'
import type { Settling } from '../submissions.js'
import { Batches } from './batches.js'

const SIGNER: Address = `0x${'51'.repeat(20)}`
const ADDRESS: Address = `0x${'a5'.repeat(20)}`
const BATCH_SIZE = 3

function paymentOf(id: string, signatureBytes = 65): PaymentRow {
  return {
    ...{ id, state: 'submitted', kind: 'upto-permit2', asset: ADDRESS, payer: ADDRESS, payTo: ADDRESS },
    ...{ facilitator: SIGNER, maximum: 5n, charge: 5n, nonce: 1n, deadline: 9n, validAfter: 0n },
    ...{
      signature: `0x${'11'.repeat(signatureBytes)}`,
      permitDeadline: null,
      permitSignature: null,
      settlementGas: 130_000n,
    },
  } as unknown as PaymentRow
}

/**
 * The batches of one signer with an empty ledger, and what was signed.
 * @param onCount called when the signer's transaction count is read
 * @param maxFeePerGas wei
 */
function batchesOf(onCount = () => {}, maxFeePerGas = 1n) {
  const signed: string[][] = []
  const where = async () => [{ nextNonce: 0 }]
  const claimed = { where: () => ({ returning: async () => [] }) }
  const update = () => ({ set: () => claimed })
  const latest = {
    code: async (account: Address) => (account === SIGNER ? DELEGATED_CODE : SETTLEMENT_BATCH_CODE),
    ...{ balance: async () => 10n ** 18n, call: async () => '0x' },
    ...{ wouldSettle: async () => true },
    transactionCount: async () => {
      onCount()
      return 0
    },
  }
  const settling = {
    chain: {
      ...{ network: 'eip155:1', latest, head: { nextTimestamp: async () => 1n } },
      fees: async () => ({ maxFeePerGas, maxPriorityFeePerGas: 1n }),
    },
    db: { select: () => ({ from: () => ({ where }) }), update, transaction: async () => {} },
    environment: { SETTLEMENT: 'batch', LIMITS: { batchSize: BATCH_SIZE, batchIntervalMs: 0 } },
    signing: {
      sign: async (_: unknown, settlements: readonly Settlement[]) => {
        signed.push(settlements.map(({ payment }) => payment.id))
        return { hash: '0x1' } as unknown as SignedTransactionRow
      },
    },
    logger: createLogger({ level: 'silent' }),
  } as unknown as Settling
  const claimant = { network: 'eip155:1', signers: [SIGNER], working: [], nextLookMilliseconds: 1 } as Claimant
  const batches = new Batches(settling)
  return { batches, signed, take: () => batches.take(SIGNER, claimant) }
}

describe('payments put back to be signed again', () => {
  it('join the next batch even if put back while it is built', async () => {
    const { batches, signed, take } = batchesOf(() => batches.putBack(paymentOf('late')))
    batches.putBack(paymentOf('early'))
    await take()
    expect(signed).toEqual([['early', 'late']])
  })

  it('wait for another batch if they do not fit into one', async () => {
    const { batches, signed, take } = batchesOf()
    for (const id of ['1', '2', '3', '4', '5']) batches.putBack(paymentOf(id))
    await take()
    await take()
    expect(signed).toEqual([
      ['1', '2', '3'],
      ['4', '5'],
    ])
    expect(batches.hasPutBack(SIGNER)).toBe(false)
  })
})

it.each<[string, number, bigint]>([
  ['large, whatever its payers signed', 60_000, 1n],
  ['expensive', 65, 1_500n * 10n ** 9n],
])('sends no transaction that nodes refuse as too %s', async (_, signatureBytes, maxFeePerGas) => {
  const { batches, signed, take } = batchesOf(undefined, maxFeePerGas)
  for (const id of ['1', '2', '3']) batches.putBack(paymentOf(id, signatureBytes))
  await take()
  expect(signed).toEqual([['1', '2']])
})
