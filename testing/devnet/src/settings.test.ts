import { readFileSync } from 'node:fs'
import { misspelt, SETTINGS } from './settings.js'

it('warns of a variable that resembles a setting', () => {
  const variables = { DEVNET_PROT: '1', devnet_host: '::', DEVNET_OPTIMISM: '1', DEVNET_URL: 'http://x', PATH: '/bin' }
  expect(misspelt(variables)).toEqual([
    'DEVNET_PROT is not a setting: did you mean DEVNET_PORT?',
    'devnet_host is not a setting: did you mean DEVNET_HOST?',
  ])
})

it('lists every setting that the program reads', () => {
  const program = readFileSync(new URL('main.ts', import.meta.url), 'utf8')
  const read = program.match(/\bDEVNET_[A-Z_]+/g)
  expect([...new Set(read)].sort()).toEqual(Object.keys(SETTINGS).sort())
})
