// Checks the table in billing's README of the gas prices up to which the gateway's default prices are profitable.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DEFAULT_PRICE_LIST } from '../../packages/receipt/dist/index.js'
import { root } from '../install.mjs'

const text = readFileSync(join(root, 'apps/billing/README.md'), 'utf8')
const numberAfter = (pattern) => Number(pattern.exec(text)?.[1]?.replaceAll(',', ''))
const gas = numberAfter(/A settlement alone uses about ([\d,]+) gas/)
const batchedGas = numberAfter(/a settlement uses about ([\d,]+) gas in a batch of 50/)
const dollarsForEther = numberAfter(/At \$([\d,]+) for the native token/)
const rows = [...text.matchAll(/^\| (\$[\d.]+)(?:, ([^|]*?))? +\| ([\d.]+) gwei +\|$/gm)].map(
  ([, charge, what, gwei]) => ({
    charge: Number(charge.slice(1)),
    what,
    gwei,
  }),
)
const earnsBelow = (charge, gasEach) => ((charge / dollarsForEther / gasEach) * 1e9).toPrecision(2)

describe('the gas price table of billing’s README', () => {
  it('starts at the base price and ends at the maximum of the default price list', () => {
    const dollars = (price) => Number(price.slice(1))
    expect(rows.map(({ charge }) => charge)).toEqual([
      dollars(DEFAULT_PRICE_LIST.base),
      0.01,
      dollars(DEFAULT_PRICE_LIST.maximum),
    ])
  })

  it('shows the gas price below which each charge is profitable', () => {
    expect(rows.map(({ gwei }) => gwei)).toEqual(rows.map(({ charge }) => earnsBelow(charge, gas)))
  })

  it('states twice that gas price for batches', () => {
    const bound = /each of these bounds is twice as high: ([\d.]+) gwei/.exec(text)?.[1]
    expect(bound).toBe(earnsBelow(rows[0].charge, batchedGas))
  })
})
