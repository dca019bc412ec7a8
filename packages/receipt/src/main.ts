import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Verification, verify } from './verify/verify.js'

const USAGE = `usage: receipt verify FILE [--signer ADDRESS]

Checks a paid answer offline. FILE is JSON: {"request": {"url", "body"}, "answer"}, and what else the buyer kept: "offer", "payment",
"settlement", "seller" (its /.well-known/upfront.json), and "chain" where its id is not known (genesis file, or a node's eth_config).
Exit code 0: the bill is right; 1: it is wrong; 2: nothing is wrong, but not all could be checked; 3: the file can't be read.`

const SIGNS = { right: 'ok   ', wrong: 'WRONG', unchecked: '-    ' }
const EXIT_CODES = { right: 0, wrong: 1, unchecked: 2 }
const UNREADABLE = 3

function print({ calls, payment, verdict }: Verification): void {
  const lines = (checks: Verification['payment']) =>
    checks.map(({ outcome, name, detail }) => `${SIGNS[outcome]} ${name.padEnd(13)}  ${detail}`).join('\n')
  if (calls.length > 1) for (const { name, checks } of calls) console.log(`${name}\n${lines(checks)}\n`)
  else if (calls[0] !== undefined) console.log(lines(calls[0].checks))
  console.log(lines(payment))
  const checks = [...calls.flatMap((call) => call.checks), ...payment]
  const names = (wanted: string) => [
    ...new Set(checks.flatMap(({ outcome, name }) => (outcome === wanted ? [name] : []))),
  ]
  if (verdict === 'right') console.log('The bill is right.')
  if (verdict === 'wrong') console.log(`The bill is WRONG: ${names('wrong').join(', ')}.`)
  if (verdict === 'unchecked')
    console.log(`The bill is NOT FULLY CHECKED: ${names('unchecked').join(', ')}. What could be checked is right.`)
}

async function main(): Promise<number> {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { signer: { type: 'string' } } })
  const [command, file, ...others] = positionals
  if (command !== 'verify' || file === undefined || others.length > 0) throw new Error(USAGE)
  const { signer } = values
  const verification = await verify(JSON.parse(readFileSync(file, 'utf8')), signer === undefined ? {} : { signer })
  print(verification)
  return EXIT_CODES[verification.verdict]
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = UNREADABLE
}
