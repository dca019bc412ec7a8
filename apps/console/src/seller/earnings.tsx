import { useState } from 'react'
import { formatEther, formatUnits } from 'viem'
import type { TokenTerms } from '../pay/token-terms.js'
import { Table } from '../table.js'
import { EarningsChart } from './earnings-chart.js'
import type { Total } from './ledger.js'
import { marginOf } from './margin.js'

interface Props {
  totals: Total[]
  /** By the token's address. */
  tokens: ReadonlyMap<string, TokenTerms>
}

/** What was earned in each token, and what gas took of it. */
export function Earnings({ totals, tokens }: Props) {
  const [price, setPrice] = useState('')
  return [...tokens].map(([asset, terms]) => {
    const own = totals.filter((total) => total.asset === asset)
    const settled = own.reduce((sum, total) => sum + BigInt(total.settled), 0n)
    const fees = own.reduce((sum, total) => sum + BigInt(total.feePaid), 0n)
    const margin = marginOf(settled, terms.decimals, fees, price)
    return (
      <section key={asset} aria-label={`Earned in ${terms.symbol}`}>
        <h3>
          Earned {terms.inWords(settled)} · gas {formatEther(fees)} ETH
        </h3>
        <label>
          Price of 1 ETH in {terms.symbol}, for the margin
          <input inputMode="decimal" value={price} onChange={({ target: { value } }) => setPrice(value)} />
        </label>
        {margin && (
          <p className={margin.isLoss ? 'bad' : 'good'}>
            Gas took {margin.shareOfGas} of what was earned: {margin.left} {terms.symbol} are left
          </p>
        )}
        <EarningsChart totals={own} inWords={terms.inWords} />
        <TotalsTable totals={own} terms={terms} />
      </section>
    )
  })
}

function TotalsTable({ totals, terms }: { totals: Total[]; terms: TokenTerms }) {
  const units = (amount: string) => formatUnits(BigInt(amount), terms.decimals)
  return (
    <Table
      caption={`By route and day (UTC), in ${terms.symbol}`}
      rows={totals}
      rowKey={({ day, route }) => `${day} ${route}`}
      columns={[
        { head: 'Day', cell: ({ day }) => day },
        { head: 'Route', cell: ({ route }) => route },
        { head: 'Payments', cell: ({ payments }) => payments },
        { head: 'Settled', cell: ({ settled }) => units(settled) },
        { head: 'Under way', cell: ({ pending }) => units(pending) },
        { head: 'Failed', cell: ({ failed }) => units(failed) },
        { head: 'Gas, ETH', cell: ({ feePaid }) => formatEther(BigInt(feePaid)) },
      ]}
    />
  )
}
