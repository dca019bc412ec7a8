import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Verification, verify } from './verify/verify.js'

const USAGE = `usage: receipt verify FILE [--signer ADDRESS]

Checks a paid answer offline. FILE is JSON: {"request": {"url", "body"}, "answer"}, and where they were kept "offer", "payment",
"settlement" and "seller" (its /.well-known/upfront.json). Exit code 0: nothing is wrong; 1: something is; 2: it can't be read.`

const SIGNS = { right: 'ok   ', wrong: 'WRONG', unchecked: '-    ' }

function print({ calls, payment, isRight }: Verification): void {
  const groups = calls.length === 1 ? [...calls[0]!.checks, ...payment] : undefined
  const lines = (checks: Verification['payment']) =>
    checks.map(({ outcome, name, detail }) => `${SIGNS[outcome]} ${name.padEnd(10)}  ${detail}`)
  if (groups !== undefined) console.log(lines(groups).join('\n'))
  else {
    for (const { name, checks } of calls) console.log(`${name}\n${lines(checks).join('\n')}\n`)
    console.log(lines(payment).join('\n'))
  }
  console.log(isRight ? 'The bill is right.' : 'The bill is WRONG.')
}

async function main(): Promise<number> {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { signer: { type: 'string' } } })
  const [command, file, ...others] = positionals
  if (command !== 'verify' || file === undefined || others.length > 0) throw new Error(USAGE)
  const { signer } = values
  const verification = await verify(JSON.parse(readFileSync(file, 'utf8')), signer === undefined ? {} : { signer })
  print(verification)
  return verification.isRight ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 2
}
