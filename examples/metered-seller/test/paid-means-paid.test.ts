import { randomBytes } from 'node:crypto'
import { type DevnetAccount, fundBuyer, PERMIT2_ADDRESS, USDC_ADDRESS, usdcAbi } from '@upfront/devnet'
import {
  createPublicClient,
  createTestClient,
  createWalletClient,
  type Hash,
  http,
  parseAbi,
  parseEther,
  parseGwei,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { balanceOf, buyer, receiptOf, type SignedRequest } from './buyer.js'
import { type Stand, startStand, stores } from './stand.js'

type Blocks = number | 'at once' | 'never'
interface Case {
  confirmations: number
  /** Milliseconds between blocks. */
  blocks: readonly Blocks[]
}

/** `npm run test:paid`: every block time with every depth. */
const isLong = process.env.PAID_LONG === 'yes'
const SHORT: Case[] = [
  { confirmations: 1, blocks: ['at once', 1_000] },
  { confirmations: 6, blocks: ['never', 200] },
  { confirmations: 12, blocks: [2_500] },
]
const LONG: Case[] = [1, 6, 12].map((confirmations) => {
  return { confirmations, blocks: ['at once', 200, 1_000, 2_000, 5_000, 12_000, 'never'] }
})
/** In the short run longer than some block times, shorter than others; in the long run what a buyer waits for in production. */
const RECEIPT_WAIT = isLong ? 10_000 : 1_500
const CHARGE = 30_000n
const burnAbi = parseAbi(['function invalidateUnorderedNonces(uint256 wordPos, uint256 mask)'])

type Attack = 'burns the nonce' | 'empties the wallet'
const ATTACKS: readonly Attack[] = ['burns the nonce', 'empties the wallet']

/** Results of the long run. */
const table: {
  confirmations: number
  blocks: Blocks
  unpaid: number
  paid: number
  seconds?: string
  blocksLate?: number
}[] = []
afterAll(() => {
  if (isLong) process.stdout.write(`${table.map((row) => JSON.stringify(row)).join('\n')}\n`)
})

describe.each(isLong ? LONG : SHORT)(
  'no answer is served unpaid with $confirmations confirmations',
  ({ confirmations, blocks }) => {
    const [store] = stores() as [ReturnType<typeof stores>[number]]
    let stand: Stand
    let url: string
    let mining: NodeJS.Timeout | undefined

    beforeAll(async () => {
      stand = await startStand(store, { confirmations, lastSeller: { RECEIPT_WAIT_MS: String(RECEIPT_WAIT) } })
      url = `${stand.seller.url}/metered?charge=${CHARGE}`
    })
    afterEach(() => blocksCome('at once'))
    afterAll(() => stand?.stop(), 60_000)

    const chain = () => createPublicClient({ transport: http(stand.devnet.rpcUrl), pollingInterval: 50 })
    const anvil = () => createTestClient({ mode: 'anvil', transport: http(stand.devnet.rpcUrl) })
    const mine = () => anvil().mine({ blocks: 1 })
    const sellerHas = () => balanceOf(stand.devnet.rpcUrl, stand.devnet.accounts.seller.address)
    const until = async (isDone: () => Promise<boolean>) => {
      while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, 50))
    }

    async function blocksCome(when: Blocks): Promise<void> {
      clearInterval(mining)
      await anvil().setAutomine(when === 'at once')
      if (when === 'at once') await mine()
      if (typeof when === 'number') mining = setInterval(() => void mine(), when)
    }

    async function newBuyer(): Promise<DevnetAccount> {
      const privateKey = `0x${randomBytes(32).toString('hex')}` as const
      const { address } = privateKeyToAccount(privateKey)
      await anvil().setBalance({ address, value: parseEther('1') })
      await fundBuyer(stand.devnet.rpcUrl, { address, privateKey }, { amount: 1_000_000n })
      return { address, privateKey }
    }

    /** Sends a transaction that is mined before all others of its block. */
    async function attack(kind: Attack, { address, privateKey }: DevnetAccount, signed: SignedRequest): Promise<Hash> {
      const wallet = createWalletClient({
        account: privateKeyToAccount(privateKey),
        transport: http(stand.devnet.rpcUrl),
      })
      const fees = {
        chain: null,
        gas: 100_000n,
        maxFeePerGas: parseGwei('200'),
        maxPriorityFeePerGas: parseGwei('100'),
      }
      if (kind === 'empties the wallet') {
        const to = stand.devnet.accounts.unapprovedBuyer.address
        const amount = await balanceOf(stand.devnet.rpcUrl, address)
        return wallet.writeContract({
          ...fees,
          address: USDC_ADDRESS,
          abi: usdcAbi,
          functionName: 'transfer',
          args: [to, amount],
        })
      }
      const { payload } = JSON.parse(Buffer.from(signed.headers['PAYMENT-SIGNATURE'], 'base64').toString())
      const nonce = BigInt(payload.permit2Authorization.nonce)
      const args = [nonce >> 8n, 1n << (nonce & 255n)] as const
      const functionName = 'invalidateUnorderedNonces'
      return wallet.writeContract({ ...fees, address: PERMIT2_ADDRESS, abi: burnAbi, functionName, args })
    }

    /** Repeats the request with the same payment while it is pending or doubtful. */
    async function ask(signed: SignedRequest, path = ''): Promise<Response> {
      for (;;) {
        const response = await fetch(url + path, signed)
        const { errorReason = '' } = response.headers.has('payment-response') ? receiptOf(response) : {}
        if (response.status !== 402 || !/^settlement_(pending|doubtful)$/.test(errorReason)) return response
        expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }

    describe.each(blocks.map((when) => ({ when })))('and blocks every $when ms', ({ when }) => {
      const standing = when === 'never'
      const row: (typeof table)[number] = { confirmations, blocks: when, unpaid: 0, paid: 0 }
      /** An attacked payment must buy nothing. */
      const expectUnserved = async (response: Response) => {
        if (response.status === 200) row.unpaid += 1
        expect(response.status).toBe(402)
        expect(await response.text()).not.toContain('"run"')
      }
      beforeAll(() => table.push(row))

      it.each(ATTACKS)(
        'to a buyer who %s while the handler runs, nor for its next payment',
        async (kind) => {
          const [account, had, ran] = [await newBuyer(), await sellerHas(), await stand.runs()]
          const { sign } = buyer(account.privateKey)
          const signed = await sign(url)
          await blocksCome(when)
          const path = '&slowMs=1000'
          const asked = fetch(url + path, signed)
          await until(async () => (await stand.runs()) > ran)
          await attack(kind, account, signed)
          await expectUnserved(await asked)
          // A failure is final some blocks later.
          await blocksCome(200)
          await expectUnserved(await ask(signed, path))
          const next = await fetch(url, await sign(url))
          expect([next.status, await next.json()]).toMatchObject([402, { error: 'payer_refused' }])
          expect((await sellerHas()) - had).toBe(0n)
          expect(await stand.runs()).toBe(ran + 1)
        },
        120_000,
      )

      it('to a buyer whose transaction is mined before the settlement in the same block', async () => {
        const [account, had] = [await newBuyer(), await sellerHas()]
        const signed = await buyer(account.privateKey).sign(url)
        // The settlement waits in the pool until the block below.
        await blocksCome('never')
        const address = stand.devnet.accounts.facilitators[0].address
        const pending = () => chain().getTransactionCount({ address, blockTag: 'pending' })
        const sent = await pending()
        const asked = fetch(url, signed)
        await until(async () => (await pending()) > sent)
        await attack('empties the wallet', account, signed)
        await blocksCome(when)
        await expectUnserved(await asked)
        // A failure is final some blocks later.
        await blocksCome(200)
        await expectUnserved(await ask(signed))
        expect((await sellerHas()) - had).toBe(0n)
      })

      it('and an honest buyer gets the answer with the block that mines its payment', async () => {
        const [account, had, ran] = [await newBuyer(), await sellerHas(), await stand.runs()]
        const signed = await buyer(account.privateKey).sign(url)
        await blocksCome(when)
        if (standing) {
          const first = await fetch(url, signed)
          expect([first.status, receiptOf(first)]).toMatchObject([402, { errorReason: 'settlement_pending' }])
          await blocksCome('at once')
        }
        const since = performance.now()
        const response = await ask(signed)
        row.seconds = ((performance.now() - since) / 1_000).toFixed(1)
        const head = await chain().getBlockNumber({ cacheTime: 0 })
        expect(response.status).toBe(200)
        expect(receiptOf(response)).toMatchObject({ success: true, amount: String(CHARGE) })
        const { blockNumber } = await chain().getTransactionReceipt({ hash: receiptOf(response).transaction as Hash })
        row.blocksLate = Number(head - blockNumber)
        row.paid += 1
        if (when !== 200) expect(head - blockNumber).toBeLessThanOrEqual(1n)
        expect((await sellerHas()) - had).toBe(CHARGE)
        expect(await stand.runs()).toBe(ran + 1)
      })
    })
  },
)
