import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { DEVNET_ROLES, type Devnet, startDevnet, USDC_ADDRESS } from '@upfront/devnet'
import type { Address, Hex } from '@upfront/protocol'
import type { PaymentPayload } from '@x402/core/types'
import { createPublicClient, createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { BatchItem } from '../src/chain/batch-items.js'
import { type RpcReceipt, readReceipt } from '../src/chain/receipt.js'
import {
  batchGasLimit,
  batchPart,
  DELEGATED_CODE,
  decodeBatch,
  encodeBatch,
  itemOfLog,
  SETTLEMENT_BATCH,
  SETTLEMENT_BATCH_CODE,
} from '../src/chain/settlement-batch.js'
import { UPTO_PROXY } from '../src/chain/settlement-call.js'
import { findTransfer } from '../src/settle/outcome/find-receipt.js'
import { SELLER, sign } from './support/buyer.js'
import { delegateFacilitator, facilitatorWallet, rpc, settlementCall } from './support/on-chain.js'
import { usdcBalance } from './support/stand.js'

const [SIGNER] = DEVNET_ROLES.facilitators
const ITEM_GAS = 150_000n

it('the committed artifact is what the contract compiles to', () => {
  const script = fileURLToPath(new URL('../../../testing/devnet/scripts/compile.mjs', import.meta.url))
  const folder = fileURLToPath(new URL('..', import.meta.url))
  expect(execFileSync(process.execPath, [script, folder, '--check'], { encoding: 'utf8' })).toContain(
    '1 contracts checked',
  )
})

describe('the SettlementBatch contract', () => {
  let devnet: Devnet
  const account = privateKeyToAccount(SIGNER.privateKey)
  const signer = SIGNER.address.toLowerCase() as Address
  const client = () => createPublicClient({ transport: http(devnet.rpcUrl), pollingInterval: 20 })
  const mined = async (hash: Hex) => {
    await client().waitForTransactionReceipt({ hash })
    return readReceipt((await rpc(devnet.rpcUrl, 'eth_getTransactionReceipt', [hash])) as RpcReceipt)
  }
  const settle = async (items: BatchItem[], gas?: bigint) => {
    const data = encodeBatch(signer, items)
    const hash = await facilitatorWallet(devnet).sendTransaction({
      chain: null,
      to: account.address,
      data,
      gas: gas ?? batchGasLimit(items, data),
    })
    return mined(hash)
  }
  const signMany = (count: number) => Promise.all(Array.from({ length: count }, () => sign()))
  const itemOf = (payload: PaymentPayload, amount: bigint) => ({
    gas: ITEM_GAS,
    to: UPTO_PROXY,
    call: settlementCall(payload, amount),
  })

  beforeAll(async () => {
    devnet = await startDevnet()
    const hash = await delegateFacilitator(devnet)
    expect((await mined(hash)).succeeded).toBe(true)
  })
  afterAll(() => devnet.stop())

  it('is deployed at its address, and the account is delegated to it', async () => {
    expect(await client().getCode({ address: SETTLEMENT_BATCH })).toBe(SETTLEMENT_BATCH_CODE)
    expect(await client().getCode({ address: account.address })).toBe(DELEGATED_CODE)
  })

  it('settles 50 payments for less than 42,500 gas each', async () => {
    const before = await usdcBalance(devnet, SELLER)
    const payloads = await signMany(50)
    const items = payloads.map((payload, index) => itemOf(payload, BigInt(index + 1)))
    const receipt = await settle(items)
    expect(receipt.succeeded).toBe(true)
    expect(await usdcBalance(devnet, SELLER)).toBe(before + 1_275n)
    expect(receipt.gasUsed / 50n).toBeLessThan(42_500n)
    expect(decodeBatch(signer, encodeBatch(signer, items))).toEqual(items)
    const found = payloads.map((_, index) => batchPart(receipt, { to: signer, item: index, items: 50 }))
    const transfers = found.map(({ logs }, index) => findTransfer(paymentOf(BigInt(index + 1)), logs))
    expect(transfers.map((transfer) => transfer?.amount)).toEqual(payloads.map((_, index) => BigInt(index + 1)))
    expect(transfers.map((transfer) => itemOfLog(receipt, signer, transfer?.logIndex ?? -1))).toEqual(
      payloads.map((_, index) => index),
    )
    // The shares add up to the whole.
    expect(found.reduce((sum, { gasUsed }) => sum + gasUsed, 0n)).toBe(receipt.gasUsed)
    expect(found.reduce((sum, { fee }) => sum + fee, 0n)).toBe(receipt.fee)
  })

  it('fails a bad item alone, and attributes the right logs to each of two identical payments', async () => {
    const [first, second, third] = await signMany(3)
    // The first is above its maximum. The others move the same amount between the same accounts.
    const items = [itemOf(first!, 100_001n), itemOf(second!, 7n), itemOf(third!, 7n)]
    const receipt = await settle(items)
    expect(receipt.succeeded).toBe(true)
    const found = items.map((_, index) => batchPart(receipt, { to: signer, item: index, items: 3 }))
    expect(found.map(({ succeeded }) => succeeded)).toEqual([false, true, true])
    const places = found.map(({ logs }) => findTransfer(paymentOf(7n), logs)?.logIndex)
    expect(places[0]).toBeUndefined()
    expect(places[1]).toBeLessThan(places[2]!)
  })

  it('skips an item that it has too little gas for, and keeps the earlier ones settled', async () => {
    const before = await usdcBalance(devnet, SELLER)
    const payloads = await signMany(3)
    const receipt = await settle(
      payloads.map((payload) => itemOf(payload, 3n)),
      290_000n,
    )
    expect(receipt.succeeded).toBe(true)
    const found = payloads.map((_, index) => batchPart(receipt, { to: signer, item: index, items: 3 }).succeeded)
    expect(found).toEqual([true, true, false])
    expect(await usdcBalance(devnet, SELLER)).toBe(before + 6n)
  })

  it('reverts if anyone but the account itself calls it', async () => {
    const [payload] = await signMany(1)
    const stranger = privateKeyToAccount(DEVNET_ROLES.buyer.privateKey)
    const data = encodeBatch(signer, [itemOf(payload!, 1n)])
    const call = client().call({ account: stranger, to: account.address, data })
    await expect(call).rejects.toThrow()
    // The contract itself reverts too.
    await expect(client().call({ account: stranger, to: SETTLEMENT_BATCH, data })).rejects.toThrow()
  })

  it('lets the account receive the native currency', async () => {
    const stranger = createWalletClient({
      account: privateKeyToAccount(DEVNET_ROLES.buyer.privateKey),
      transport: http(devnet.rpcUrl),
    })
    const hash = await stranger.sendTransaction({ chain: null, to: account.address, value: 1n })
    expect((await mined(hash)).succeeded).toBe(true)
  })
})

function paymentOf(charge: bigint) {
  return {
    asset: USDC_ADDRESS.toLowerCase() as Address,
    payer: DEVNET_ROLES.buyer.address.toLowerCase() as Address,
    payTo: SELLER.toLowerCase() as Address,
    charge,
  }
}
