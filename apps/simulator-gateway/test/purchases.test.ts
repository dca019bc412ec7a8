import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type DevnetAccount, usdcAbi } from '@upfront/devnet'
import { createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type PaidStand, startPaidStand } from './paid-stand.js'

const run = promisify(execFile)
const buyer = fileURLToPath(new URL('../../../examples/paying-buyer/', import.meta.url))
/** A Python that has x402's client: `pip install 'x402[httpx,evm,extensions]'`. */
const python = process.env.UPFRONT_PYTHON ?? 'python3'
/** A Python with nothing but `pip install 'x402[evm,requests]'`. */
const plainPython = process.env.UPFRONT_PLAIN_PYTHON

function missing(command: string, ...args: string[]): string | undefined {
  const { status, error } = spawnSync(command, args)
  return status === 0 ? undefined : (error?.message ?? `${[command, ...args].join(' ')} ended with ${status}`)
}

/** Exits with 1 if a package is installed that only the client's extensions need. */
const WITHOUT_EXTENSIONS =
  'import requests, x402.mechanisms.evm.upto, importlib.util, sys; sys.exit(importlib.util.find_spec("jsonschema") is not None)'

/** `permits`: its client signs a permit if Permit2 is not approved. */
const programs: { language: string; command: string[]; lacks: string | undefined; permits: boolean }[] = [
  { language: 'TypeScript', command: [process.execPath, `${buyer}dist/purchase.js`], lacks: undefined, permits: true },
  {
    language: 'Python',
    permits: true,
    command: [python, `${buyer}purchase.py`],
    lacks: missing(python, '-c', 'import httpx, x402.extensions, x402.mechanisms.evm.upto'),
  },
  ...[[], ['simulate']].map((args) => ({
    language: ['Python with x402[evm,requests] alone', ...args].join(', '),
    permits: false,
    command: [plainPython ?? '', `${buyer}purchase_plain.py`, ...args],
    lacks:
      plainPython === undefined
        ? 'UPFRONT_PLAIN_PYTHON names no Python that has x402[evm,requests] alone'
        : missing(plainPython, '-c', WITHOUT_EXTENSIONS),
  })),
  {
    language: 'curl',
    permits: false,
    command: ['bash', `${buyer}purchase.sh`],
    lacks: missing('curl', '--version') ?? missing('jq', '--version'),
  },
]

let stand: PaidStand

beforeAll(async () => {
  stand = await startPaidStand()
}, 120_000)
afterAll(() => stand?.stop())

for (const { language, command, lacks, permits } of programs) {
  if (lacks !== undefined) console.warn(`skipped: the purchase in ${language}: ${lacks}`)
  const test = lacks === undefined ? it : it.skip
  const purchase = async (by: Pick<DevnetAccount, 'address' | 'privateKey'>) => {
    const { accounts, contracts } = stand.devnet
    const before = await stand.usdcOf(accounts.seller.address)
    const [program = '', ...args] = command
    const { stdout } = await run(program, args, {
      env: {
        PATH: process.env.PATH,
        GATEWAY_URL: stand.gateway.url,
        NETWORK: 'eip155:31337',
        ASSET: contracts.usdc,
        BUYER_PRIVATE_KEY: by.privateKey,
        BUYER_ADDRESS: by.address,
      },
    })
    const bought = JSON.parse(stdout) as { amount: string }
    expect(bought).toMatchObject({ status: 'success', transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) })
    expect((await stand.usdcOf(accounts.seller.address)) - before).toBe(BigInt(bought.amount))
  }
  test(`examples/paying-buyer buys an answer in ${language}`, () => purchase(stand.devnet.accounts.buyer))
  if (permits) {
    test(`examples/paying-buyer buys in ${language} from an account without ETH and without an approval`, async () => {
      const privateKey = `0x${randomBytes(32).toString('hex')}` as const
      const { address } = privateKeyToAccount(privateKey)
      await mint(address)
      await purchase({ address, privateKey })
      await purchase({ address, privateKey })
    })
  }
}

/** Mints a dollar of test USDC. */
async function mint(to: `0x${string}`): Promise<void> {
  const { accounts, contracts, rpcUrl } = stand.devnet
  const account = privateKeyToAccount(accounts.seller.privateKey)
  await createWalletClient({ account, transport: http(rpcUrl) }).writeContract({
    ...{ chain: null, address: contracts.usdc, abi: usdcAbi, functionName: 'mint' },
    args: [to, 1_000_000n],
  })
}
