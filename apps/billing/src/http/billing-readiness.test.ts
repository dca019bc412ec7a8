import { Test } from '@nestjs/testing'
import type { Chain } from '../chain/chain.js'
import { Chains } from '../chain/chains.js'
import { Ledger } from '../ledger/ledger.js'
import { Settler } from '../settle/settler.js'
import { SignerFunds } from '../settle/signers/signer-funds.js'
import { BillingReadiness } from './billing-readiness.js'

const SIGNER = '0x00000000000000000000000000000000000000aa'

/** A chain whose node answered just now, or never. */
function chainOf(network: string, isReachable = true): Chain {
  const head = { readAt: isReachable ? Date.now() : 0, number: 7n }
  return { network, head, signers: new Map([[SIGNER, {}]]) } as unknown as Chain
}

async function reportOf(chains: Chain[], left: (chain: Chain) => Promise<number>, canWrite = true) {
  const transaction = async (act: (tx: unknown) => Promise<void>) => {
    const values = async () => {
      if (!canWrite) throw new Error('could not extend file: No space left on device')
    }
    await act({ insert: () => ({ values }), rollback: () => undefined })
  }
  const module = await Test.createTestingModule({
    providers: [
      BillingReadiness,
      { provide: Ledger, useValue: { kind: 'postgres', db: { transaction } } },
      { provide: Chains, useValue: { all: () => chains } },
      { provide: Settler, useValue: { batchObstacles: () => ({}) } },
      { provide: SignerFunds, useValue: { fewest: 10, settlementsLeft: left } },
    ],
  }).compile()
  return module.get(BillingReadiness).report()
}

describe('BillingReadiness', () => {
  it('is ready if one of several chains can settle, and reports what the others lack', async () => {
    const chains = [chainOf('eip155:1'), chainOf('eip155:2', false), chainOf('eip155:3')]
    const report = await reportOf(chains, async ({ network }) => (network === 'eip155:3' ? 9 : 10))
    expect(report).toMatchObject({
      ready: true,
      status: 'degraded',
      chains: {
        'eip155:1': { status: 'ok', head: '7', settlementsLeft: { [SIGNER]: 10 } },
        'eip155:2': { status: 'unreachable', settlementsLeft: { [SIGNER]: null } },
        'eip155:3': { status: 'out of gas', settlementsLeft: { [SIGNER]: 9 } },
      },
    })
  })

  it('is not ready if no signer can pay for gas, or if the ledger is not writable', async () => {
    const chains = [chainOf('eip155:1')]
    expect(await reportOf(chains, async () => 0)).toMatchObject({ ready: false, status: 'unavailable' })
    const report = await reportOf(chains, async () => 100, false)
    expect(report).toMatchObject({
      ready: false,
      ledger: { status: 'unreachable' },
      chains: { 'eip155:1': { status: 'ok' } },
    })
  })

  it('does not wait for a hanging node, and does not report its signers as out of gas', async () => {
    const report = await reportOf([chainOf('eip155:1')], () => new Promise(() => {}))
    expect(report).toMatchObject({ ready: true, status: 'ok' })
  })
})
