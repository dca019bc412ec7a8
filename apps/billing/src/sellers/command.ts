import { parseArgs } from 'node:util'
import { decodeAddressField, decodeDecimal, decodeInteger } from '@upfront/protocol'
import { createLogger } from '@upfront/service'
import { openLedger } from '../ledger/ledger.js'
import type { SellerAccount } from '../ledger/schema.js'
import { listSellers, makeSeller, retireSeller, type SellerTerms } from './seller-accounts.js'

const USAGE = `Makes, lists and retires the accounts of sellers that use billing as their facilitator:

  sellers make --name NAME --pay-to 0x…[,0x…] [--minimum 1000] [--per-minute 60] [--daily-gas WEI] [--origin https://…[,https://…]]
  sellers list
  sellers retire ID

The ledger is that of DATABASE_URL, or of BILLING_DATA_DIR while billing is not running.
`

/** @throws Error that names the invalid argument */
function readTerms(args: string[]): SellerTerms {
  const { values } = parseArgs({
    args,
    options: {
      name: { type: 'string' },
      'pay-to': { type: 'string' },
      minimum: { type: 'string', default: '1000' },
      'per-minute': { type: 'string', default: '60' },
      'daily-gas': { type: 'string' },
      origin: { type: 'string', default: '' },
    },
  })
  const { name, 'pay-to': payTo, 'daily-gas': dailyGas } = values
  if (name === undefined || name === '') throw new Error('--name: is missing')
  if (payTo === undefined) throw new Error('--pay-to: is missing')
  return {
    name,
    origins: values.origin === '' ? [] : values.origin.split(',').map((origin) => readOrigin(origin.trim())),
    recipients: payTo.split(',').map((address) => decodeAddressField(address.trim(), '--pay-to')),
    minimum: decodeDecimal(values.minimum, '--minimum'),
    perMinute: decodeInteger(Number(values['per-minute']), '--per-minute', 1, 1_000_000),
    dailyGas: dailyGas === undefined ? null : decodeDecimal(dailyGas, '--daily-gas'),
  }
}

/** The origin at which the seller's resources are listed by `GET /discovery/resources`. */
function readOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol) || ![url.origin, `${url.origin}/`].includes(text))
    throw new Error('--origin: expected an origin such as https://api.example.com')
  return url.origin
}

function describe({ tokenHash: _, minimum, dailyGas, ...account }: SellerAccount) {
  return { ...account, minimum: `${minimum}`, dailyGas: dailyGas === null ? null : `${dailyGas}` }
}

async function run([verb, ...args]: string[]): Promise<unknown> {
  const isKnown = verb === 'make' || verb === 'list' || (verb === 'retire' && args.length === 1)
  if (!isKnown) throw new Error(USAGE)
  const terms = verb === 'make' ? readTerms(args) : null
  const { DATABASE_URL, BILLING_DATA_DIR = '.data/billing' } = process.env
  const ledger = await openLedger(
    { BILLING_DATA_DIR, ...(DATABASE_URL ? { DATABASE_URL } : {}) },
    createLogger({ level: 'error' }),
  )
  try {
    if (terms !== null) {
      const { account, token } = await makeSeller(ledger.db, terms)
      return { ...describe(account), token }
    }
    if (verb === 'list') return (await listSellers(ledger.db)).map(describe)
    const [id = ''] = args
    if (!(await retireSeller(ledger.db, id))) throw new Error(`${id}: there is no such account, or it is retired`)
    return { id, retired: true }
  } finally {
    await ledger.onApplicationShutdown()
  }
}

try {
  process.stdout.write(`${JSON.stringify(await run(process.argv.slice(2)), null, 2)}\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
