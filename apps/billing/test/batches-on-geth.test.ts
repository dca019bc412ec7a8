import {
  DEVNET_ACCOUNTS,
  deployPayments,
  findGeth,
  type Geth,
  paymentContractCodes,
  startGeth,
  USDC_ADDRESS,
} from '@upfront/devnet'
import type { Address, Payment } from '@upfront/protocol'
import { CREATE2_DEPLOYER } from '../src/chain/settlement-batch.js'
import { runBilling } from './support/billing.js'
import { makeRequirements, SELLER } from './support/buyer.js'
import { rpc } from './support/on-chain.js'
import type { RunningBilling } from './support/stand.js'
import { until } from './support/until.js'

const CHAIN_ID = 1337
const NETWORK = `eip155:${CHAIN_ID}` as const
/** https://github.com/Arachnid/deterministic-deployment-proxy */
const DEPLOYER_CODE =
  '0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3'
const path = findGeth()

describe('batches on geth, whose pool accepts one transaction per delegated account', () => {
  const test = path === undefined ? it.skip : it
  let geth: Geth
  let billing: RunningBilling

  beforeAll(async () => {
    if (path === undefined) return console.warn('skipped: geth is not installed')
    const funded = DEVNET_ACCOUNTS.map(({ address }) => [address, { balance: '0x21e19e0c9bab2400000' }] as const)
    const codes = { ...paymentContractCodes(CHAIN_ID), [CREATE2_DEPLOYER]: DEPLOYER_CODE }
    const contracts = Object.entries(codes).map(([address, code]) => [address, { balance: '0x0', code }] as const)
    geth = await startGeth(path, { blockTimeSeconds: 1, alloc: Object.fromEntries([...funded, ...contracts]) })
    await deployPayments(geth.rpcUrl)
    const tokens = { [USDC_ADDRESS]: { name: 'USDC', version: '2', decimals: 6 } }
    billing = await runBilling(geth.rpcUrl, {
      CHAINS: JSON.stringify({ [NETWORK]: { rpcUrl: geth.rpcUrl, tokens } }),
      SETTLEMENT: 'batch',
      batchIntervalMs: '0',
      recoveryMs: '500',
    })
  })
  afterAll(async () => {
    await billing?.close()
    await geth?.stop()
  })

  test('settles 30 charges in fewer transactions, none of which the pool refuses', async () => {
    const ids = await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        const { id } = await billing.authorizeNew(makeRequirements({ network: NETWORK, maximum: '1000' }))
        await billing.charge(id, String(index + 1), { waitMilliseconds: 0 })
        return id
      }),
    )
    const transactions = new Set<string | null>()
    for (const id of ids) {
      const isSettled = ({ state }: Payment) => state === 'settled'
      transactions.add((await until(() => billing.payment(id), isSettled)).transaction)
    }
    expect(transactions.size).toBeLessThan(30)
    for (const transaction of transactions) {
      expect(await rpc(geth.rpcUrl, 'eth_getTransactionReceipt', [transaction])).toMatchObject({ status: '0x1' })
    }
    const data = `0x70a08231${SELLER.slice(2).toLowerCase().padStart(64, '0')}`
    const balance = await rpc(geth.rpcUrl, 'eth_call', [{ to: USDC_ADDRESS as Address, data }, 'latest'])
    expect(BigInt(String(balance))).toBe(465n)
  })
})
