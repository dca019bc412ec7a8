// Writes artifacts/SystemContracts.json: the protocol's system contracts, from geth's development genesis.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

const EIPS = {
  '0x000f3df6d732807ef1319fb7b8bb8522d0beac02': 4788,
  '0x0000f90827f1c53a10cb7a02335b175320002935': 2935,
  '0x00000961ef480eb55e80d19ad83579a64c007002': 7002,
  '0x0000bbddc7ce488642fb579f8b00f3a590007251': 7251,
}

const geth = process.argv[2] ?? 'geth'
const source = execFileSync(geth, ['version'], { encoding: 'utf8' }).match(/^Version: (\S+)/m)?.[1]
const { alloc } = JSON.parse(
  execFileSync(geth, ['--dev', 'dumpgenesis'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
)
const contracts = Object.entries(EIPS).map(([address, eip]) => {
  const code = alloc[address.slice(2)]?.code
  if (code === undefined) throw new Error(`geth's development genesis has no code at ${address} (EIP-${eip})`)
  return { eip, address, code }
})
const text = `${JSON.stringify({ source: `geth --dev dumpgenesis, ${source}`, contracts })}\n`
writeFileSync(new URL('../artifacts/SystemContracts.json', import.meta.url), text)
