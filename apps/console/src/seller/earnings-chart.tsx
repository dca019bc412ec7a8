import type { Total } from './ledger.js'

const WIDTH = 640
const HEIGHT = 160
const MOST_DAYS = 31
/** Colours of routes are classes `route-0` to `route-5` of style.css. */
const COLOURS = 6

/** What each route earned on each day, of one token: stacked columns. The table below it holds the same numbers. */
export function EarningsChart({ totals, inWords }: { totals: Total[]; inWords(amount: bigint): string }) {
  const days = [...new Set(totals.map(({ day }) => day))].sort().slice(-MOST_DAYS)
  const routes = [...new Set(totals.map(({ route }) => route))].sort()
  const settledOn = (day: string) => totals.filter((total) => total.day === day)
  const sums = days.map((day) => settledOn(day).reduce((sum, { settled }) => sum + BigInt(settled), 0n))
  // biome-ignore lint/complexity/useMathMinMax: Math.max takes no bigint.
  const highest = sums.reduce((most, sum) => (sum > most ? sum : most), 1n)
  const column = WIDTH / Math.max(days.length, 7)
  return (
    <figure>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`Earned by route and day, at most ${inWords(highest)} a day`}
      >
        {days.map((day, at) => {
          let top = HEIGHT
          return settledOn(day).map(({ route, settled }) => {
            const height = (Number(BigInt(settled)) / Number(highest)) * (HEIGHT - 4)
            top -= height
            return (
              <rect
                key={`${day} ${route}`}
                className={`route-${routes.indexOf(route) % COLOURS}`}
                x={at * column + 2}
                y={top}
                width={column - 4}
                height={height}
              >
                <title>{`${day}, ${route}: ${inWords(BigInt(settled))}`}</title>
              </rect>
            )
          })
        })}
      </svg>
      <figcaption>
        {routes.map((route, at) => (
          <span key={route}>
            <span className={`swatch route-${at % COLOURS}`} aria-hidden="true" /> {route}{' '}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}
