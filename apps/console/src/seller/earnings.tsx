import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { formatEther, formatUnits } from 'viem'
import { Details } from '../parts/details.js'
import { Table } from '../parts/table.js'
import type { TokenTerms } from '../pay/token-terms.js'
import { EarningsChart } from './earnings-chart.js'
import type { Total } from './ledger.js'
import { marginOf } from './margin.js'

interface Props {
  totals: Total[]
  /** By token address. */
  tokens: ReadonlyMap<string, TokenTerms>
}

/** Earnings in each token, and their gas costs. */
export function Earnings({ totals, tokens }: Props) {
  return [...tokens].map(([asset, terms]) => (
    <EarnedIn key={asset} terms={terms} totals={totals.filter((total) => total.asset === asset)} />
  ))
}

function EarnedIn({ terms, totals }: { terms: TokenTerms; totals: Total[] }) {
  const [price, setPrice] = useState('')
  const sum = (field: 'settled' | 'pending' | 'failed' | 'feePaid') =>
    totals.reduce((all, total) => all + BigInt(total[field]), 0n)
  const [settled, fees] = [sum('settled'), sum('feePaid')]
  const count = totals.reduce((all, { payments }) => all + payments, 0)
  const margin = marginOf(settled, terms.decimals, fees, price)
  return (
    <section aria-label={`Earned in ${terms.symbol}`} className="card stack wider">
      <h2>
        Earned {terms.inWords(settled)} · gas {formatEther(fees)} ETH
      </h2>
      <dl className="figures">
        <Figure name="Payments" value={count.toLocaleString('en')} />
        <Figure name="Under way" value={terms.inWords(sum('pending'))} />
        <Figure name="Failed" value={terms.inWords(sum('failed'))} look={sum('failed') > 0n ? 'bad' : undefined} />
        {margin && (
          <Figure
            name={margin.isLoss ? 'Lost to gas' : 'Left after gas'}
            value={`${margin.left} ${terms.symbol}`}
            look={margin.isLoss ? 'bad' : 'good'}
          />
        )}
      </dl>
      <div className="fields">
        <TextInput
          label={`Price of 1 ETH in ${terms.symbol}, for the margin`}
          inputMode="decimal"
          value={price}
          onChange={({ target }) => setPrice(target.value)}
        />
      </div>
      {margin && (
        <p className={margin.isLoss ? 'bad' : 'good'}>
          Gas took {margin.shareOfGas} {margin.isLoss ? 'what' : 'of what'} was earned: {margin.left} {terms.symbol} are{' '}
          {margin.isLoss ? 'lost' : 'left'}
        </p>
      )}
      <EarningsChart totals={totals} terms={terms} />
      <Details title="By route and day, exact amounts" isOpen={totals.length < 10}>
        <TotalsTable totals={totals} terms={terms} />
      </Details>
    </section>
  )
}

function Figure({ name, value, look }: { name: string; value: string; look?: 'good' | 'bad' | undefined }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className={look}>{value}</dd>
    </div>
  )
}

function TotalsTable({ totals, terms }: { totals: Total[]; terms: TokenTerms }) {
  const units = (amount: string) => formatUnits(BigInt(amount), terms.decimals)
  return (
    <Table
      caption={`By route and day (UTC), in ${terms.symbol}`}
      rows={totals}
      rowKey={({ day, route }) => `${day} ${route}`}
      columns={[
        { head: 'Day', cell: ({ day }) => <span className="whole">{day.slice(0, 10)}</span> },
        { head: 'Route', cell: ({ route }) => route },
        { head: 'Payments', isNumber: true, cell: ({ payments }) => payments },
        { head: 'Settled', isNumber: true, cell: ({ settled }) => units(settled) },
        { head: 'Under way', isNumber: true, cell: ({ pending }) => units(pending) },
        { head: 'Failed', isNumber: true, cell: ({ failed }) => units(failed) },
        { head: 'Gas, ETH', isNumber: true, cell: ({ feePaid }) => formatEther(BigInt(feePaid)) },
      ]}
    />
  )
}
