import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ledgerStores } from '@upfront/devnet'
import { type PaidStand, startPaidStand } from './paid-stand.js'

const run = promisify(execFile)
const buyer = fileURLToPath(new URL('../../../examples/paying-buyer/', import.meta.url))
/** A Python that has x402's client: `pip install 'x402[httpx,evm,extensions]'`. */
const python = process.env.UPFRONT_PYTHON ?? 'python3'

function missing(command: string, ...args: string[]): string | undefined {
  const { status, error } = spawnSync(command, args)
  return status === 0 ? undefined : (error?.message ?? `${[command, ...args].join(' ')} ended with ${status}`)
}

const programs: { language: string; command: string[]; lacks: string | undefined }[] = [
  { language: 'TypeScript', command: [process.execPath, `${buyer}dist/purchase.js`], lacks: undefined },
  {
    language: 'Python',
    command: [python, `${buyer}purchase.py`],
    lacks: missing(python, '-c', 'import httpx, x402.extensions, x402.mechanisms.evm.upto'),
  },
  {
    language: 'curl',
    command: ['bash', `${buyer}purchase.sh`],
    lacks: missing('curl', '--version') ?? missing('jq', '--version'),
  },
]

let stand: PaidStand

beforeAll(async () => {
  const [store] = ledgerStores()
  if (store === undefined) throw new Error('there is no ledger store')
  stand = await startPaidStand(store)
}, 120_000)
afterAll(() => stand?.stop(), 60_000)

for (const { language, command, lacks } of programs) {
  if (lacks !== undefined) console.warn(`skipped: the purchase in ${language}: ${lacks}`)
  const test = lacks === undefined ? it : it.skip
  test(`the purchase of examples/paying-buyer in ${language}`, async () => {
    const { accounts, contracts } = stand.devnet
    const before = await stand.usdcOf(accounts.seller.address)
    const [program = '', ...args] = command
    const { stdout } = await run(program, args, {
      env: {
        PATH: process.env.PATH,
        GATEWAY_URL: stand.gateway.url,
        NETWORK: 'eip155:31337',
        ASSET: contracts.usdc,
        BUYER_PRIVATE_KEY: accounts.buyer.privateKey,
        BUYER_ADDRESS: accounts.buyer.address,
      },
    })
    const bought = JSON.parse(stdout) as { amount: string }
    expect(bought).toMatchObject({ status: 'success', transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) })
    expect((await stand.usdcOf(accounts.seller.address)) - before).toBe(BigInt(bought.amount))
  }, 60_000)
}
