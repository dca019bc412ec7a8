import { DEVNET_ACCOUNTS, DEVNET_ROLES, type DevnetAccount, USDC_ADDRESS } from '@upfront/devnet'
import type { PaymentPayload } from '@x402/core/types'
import { uptoPermit2WitnessTypes } from '@x402/evm'
import { createWalletClient, http, keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { encodeSettlement, PERMIT2, UPTO_PROXY } from '../src/chain/settlement-call.js'
import { makeRequirements, sign } from './support/buyer.js'
import { burnNonce, fetchHead, resend, rpc, settleElsewhere } from './support/on-chain.js'
import { useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

/** How far anvil's `finalized` is below its head. */
const ANVIL_FINAL_DEPTH = 64
/** Deeper than settlements and failures are watched. */
const DEEP = ANVIL_FINAL_DEPTH + 6

describe.each(oneStore())('background reconciliation, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store, { settings: { recoveryMs: '200', reconcileMs: '100' } })
  const { anvil } = stand
  const mine = (blocks: number) => anvil().mine({ blocks })
  const metrics = async () => String((await stand.billing.send('/metrics')).body)

  test('follows the final blocks, and counts a settlement that is not in the ledger', async () => {
    const { id } = await stand.billing.authorizeNew()
    expect((await stand.billing.charge(id, '700')).payment.state).toBe('settled')
    await settleElsewhere(stand.devnet, await sign(), 5n)
    await mine(DEEP)
    const line = /^billing_reconciliation_differences_total\{network="eip155:31337",kind="not in ledger"\} 1$/m
    await until(async () => line.test(await metrics()))
    for (const kind of ['missing on chain', 'amount differs', 'moved but not settled', 'unexplained'])
      expect(await metrics()).toContain(`kind="${kind}"} 0`)
    await until(async () => /^billing_reconciled_block\{.*\} [1-9]/m.test(await metrics()))
    await until(async () => /^billing_gas_spent_day_wei\{.*\} [1-9]/m.test(await metrics()))
    expect(await metrics()).toMatch(/^billing_received_day_units\{.*\} 700$/m)
    expect(await metrics()).toMatch(/^billing_signer_hours_left\{.*\} [1-9]/m)
  })

  test('settles a payment that failed long ago once its transfer is found', async () => {
    await anvil().setAutomine(false)
    const { id, nonce } = await stand.billing.authorizeNew()
    await stand.billing.charge(id, '700', { waitMilliseconds: 0 })
    const waiting = () => rpc(stand.devnet.rpcUrl, 'txpool_content', []) as Promise<{ pending: object }>
    // The first transaction has the nonce that was spent elsewhere above.
    await until(async () => Object.keys((await waiting()).pending).length > 0)
    stand.node.faultOf = (method) => (method === 'eth_sendRawTransaction' ? 'reset' : undefined)
    const settlement = stand.node.sent.at(-1) as `0x${string}`
    const { transaction } = await stand.billing.payment(id)
    expect(transaction).toBe(keccak256(settlement))
    await anvil().dropTransaction({ hash: keccak256(settlement) })
    const snapshot = await anvil().snapshot()
    await burnNonce(stand.devnet, nonce)
    const account = privateKeyToAccount(DEVNET_ROLES.facilitators[0].privateKey)
    const wallet = createWalletClient({ account, transport: http(stand.devnet.rpcUrl) })
    await wallet.sendTransaction({ chain: null, to: account.address, value: 1n })
    await until(
      async () => (await stand.billing.payment(id)).state === 'failed',
      Boolean,
      () => mine(1),
    )
    await anvil().revert({ id: snapshot })
    // Deep enough that the failure is no longer watched.
    await mine(DEEP)
    await resend(stand.devnet, settlement)
    await mine(DEEP)
    await until(
      async () => (await stand.billing.payment(id)).state === 'settled',
      Boolean,
      () => mine(1),
    )
    expect(await stand.billing.payment(id)).toMatchObject({ charge: 700n, transaction, reason: null })
  })

  test('counts a settlement of the same nonce by another facilitator as unexplained, and goes on', async () => {
    const attacker = DEVNET_ACCOUNTS[7]!
    const elsewhere = makeRequirements({ payTo: DEVNET_ROLES.unapprovedBuyer.address })
    await stand.billing.authorizeNew(elsewhere)
    // The same nonce twice: for billing, which is not asked to settle it, and for the payer's own facilitator.
    const payload = await sign(makeRequirements())
    const authorized = await stand.billing.authorize(payload)
    if (authorized.outcome !== 'authorized') throw new Error(authorized.reason)
    await stand.billing.release(authorized.payment.id, 'not wanted')
    await settleForAttacker(payload, attacker, elsewhere.payTo as `0x${string}`)
    await mine(DEEP)
    const line = /^billing_reconciliation_differences_total\{network="eip155:31337",kind="unexplained"\} 1$/m
    await until(async () => line.test(await metrics()))
    const at = Number(await fetchHead(stand.devnet))
    await mine(DEEP)
    const reached = async () => Number(/^billing_reconciled_block\{.*\} (\d+)$/m.exec(await metrics())?.[1] ?? 0)
    await until(async () => (await reached()) >= at)
    expect((await stand.billing.send('/reconciliation')).body).toMatchObject({
      differences: expect.arrayContaining([
        expect.objectContaining({ kind: 'unexplained', paymentId: authorized.payment.id, chainAmount: '1' }),
      ]),
    })
  })

  /** Signs the authorization's nonce again, for `facilitator` and `payTo`, and settles one unit of it there. */
  async function settleForAttacker(
    { payload }: PaymentPayload,
    facilitator: DevnetAccount,
    payTo: `0x${string}`,
  ): Promise<void> {
    const { nonce, deadline } = (payload as { permit2Authorization: { nonce: string; deadline: string } })
      .permit2Authorization
    const buyer = privateKeyToAccount(DEVNET_ROLES.buyer.privateKey)
    const terms = {
      ...{
        kind: 'upto-permit2' as const,
        asset: USDC_ADDRESS.toLowerCase() as `0x${string}`,
        maximum: 1n,
        nonce: BigInt(nonce),
        deadline: BigInt(deadline),
      },
      ...{ payer: buyer.address, payTo, facilitator: facilitator.address, validAfter: 0n },
      ...{ permitDeadline: null, permitSignature: null },
    }
    const signature = await buyer.signTypedData({
      domain: { name: 'Permit2', chainId: 31337, verifyingContract: PERMIT2 },
      types: uptoPermit2WitnessTypes,
      primaryType: 'PermitWitnessTransferFrom',
      message: {
        permitted: { token: terms.asset, amount: 1n },
        ...{ spender: UPTO_PROXY, nonce: terms.nonce, deadline: terms.deadline },
        witness: { to: payTo, facilitator: facilitator.address, validAfter: 0n },
      },
    })
    const account = privateKeyToAccount(facilitator.privateKey)
    const wallet = createWalletClient({ account, transport: http(stand.devnet.rpcUrl) })
    await anvil().setAutomine(true)
    const data = encodeSettlement({ ...terms, signature }, 1n)
    const hash = await wallet.sendTransaction({ chain: null, to: UPTO_PROXY, data, gas: 300_000n })
    expect(await until(() => rpc(stand.devnet.rpcUrl, 'eth_getTransactionReceipt', [hash]))).toMatchObject({
      status: '0x1',
    })
  }

  // Must run last: its node reports blocks that do not exist.
  test('reads at most 2,000 blocks per round, without a gap, however far it is behind', async () => {
    const rounds: { from: number; to: number }[][] = []
    const final = Number(await fetchHead(stand.devnet)) + 4_500
    stand.node.lies = ({ method, params = [] }) => {
      if (method === 'eth_getBlockByNumber' && params[0] === 'finalized') {
        rounds.push([])
        return { number: `0x${final.toString(16)}` }
      }
      if (method !== 'eth_getLogs') return undefined
      const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
      rounds.at(-1)?.push({ from: Number(fromBlock), to: Number(toBlock) })
      return []
    }
    await until(async () => new RegExp(`^billing_reconciled_block\\{.*\\} ${final}$`, 'm').test(await metrics()))
    const ranges = rounds.flat()
    expect(rounds.every(({ length }) => length <= 1)).toBe(true)
    expect(ranges.length).toBeGreaterThanOrEqual(3)
    for (const [index, { from, to }] of ranges.entries()) {
      expect(to - from + 1).toBeLessThanOrEqual(2_000)
      if (index > 0) expect(from).toBe((ranges[index - 1]?.to ?? 0) + 1)
    }
    expect(ranges.at(-1)?.to).toBe(final)
  })
})
