import '@mantine/charts/styles.css'
import { BarChart } from '@mantine/charts'
import { formatUnits } from 'viem'
import type { TokenTerms } from '../pay/token-terms.js'
import type { Total } from './ledger.js'

const MAX_DAYS = 60
/** Colours of routes are `--series-0` to `--series-5` of theme.css. */
const COLOURS = 6

/** Daily earnings of each route in one token, as stacked columns. The table below has the exact numbers. */
export function EarningsChart({ totals, terms }: { totals: Total[]; terms: TokenTerms }) {
  const days = [...new Set(totals.map(({ day }) => day))].sort().slice(-MAX_DAYS)
  const routes = [...new Set(totals.map(({ route }) => route))].sort()
  const settled = new Map(totals.map(({ day, route, settled }) => [`${day} ${route}`, settled]))
  const units = (amount: string) => Number(formatUnits(BigInt(amount), terms.decimals))
  const data = days.map((day) => ({
    day: dayText(day),
    ...Object.fromEntries(routes.map((route) => [route, units(settled.get(`${day} ${route}`) ?? '0')])),
  }))
  return (
    <div
      role="img"
      aria-label={`Earned by route and day, in ${terms.symbol}: ${days.length} days, ${routes.length} routes`}
    >
      <BarChart
        h={240}
        data={data}
        dataKey="day"
        type="stacked"
        withLegend
        series={routes.map((name, at) => ({ name, color: `var(--series-${at % COLOURS})` }))}
        valueFormatter={(value) => `${value.toLocaleString('en', { maximumSignificantDigits: 4 })} ${terms.symbol}`}
        yAxisProps={{ width: 110 }}
        maxBarWidth={56}
        barProps={{ isAnimationActive: false }}
      />
    </div>
  )
}

/** For example `24 Nov`; days are in UTC. */
function dayText(day: string): string {
  return new Date(`${day.slice(0, 10)}T00:00:00Z`).toLocaleDateString(undefined, {
    day: 'numeric',
    month: 'short',
    timeZone: 'UTC',
  })
}
