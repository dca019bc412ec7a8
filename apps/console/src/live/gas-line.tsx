import '@mantine/charts/styles.css'
import { LineChart } from '@mantine/charts'
import type { Mark } from './feed.js'

/** Time range of the line. */
const SHOWN_MS = 90_000
const MIN_MS = 10_000

/**
 * A moving line of the gas of each head, and of the block under construction so far. Disturbances are
 * marked where they happened. The table next to it shows the same as text.
 * @param marks newest first
 */
export function GasLine({ marks, hasFlashblocks }: { marks: readonly Mark[]; hasFlashblocks: boolean }) {
  const newest = marks[0]?.at ?? Date.now()
  const shown = marks.filter(({ at }) => newest - at < SHOWN_MS).toReversed()
  const data = shown.flatMap(({ at, sight }) =>
    sight === undefined ? [] : [{ at, [sight.what === 'head' ? 'Heads' : 'Flashblocks']: sight.gasUsed }],
  )
  const disturbances = shown.flatMap(({ at, disturbance }) =>
    disturbance === undefined ? [] : [{ at, ...disturbance }],
  )
  // Starts short and grows with the data.
  const from = Math.max(newest - SHOWN_MS, Math.min(shown[0]?.at ?? newest, newest - MIN_MS))
  const series = [
    { name: 'Heads', color: 'var(--series-0)' },
    ...(hasFlashblocks ? [{ name: 'Flashblocks', color: 'var(--series-1)' }] : []),
  ]
  return (
    <div role="img" aria-label={`Gas of blocks and flashblocks in the last ${SHOWN_MS / 1_000} seconds`}>
      <LineChart
        h={220}
        data={data}
        dataKey="at"
        series={series}
        curveType="stepAfter"
        connectNulls
        withLegend
        withDots={data.length < 60}
        dotProps={{ r: 2 }}
        lineProps={{ isAnimationActive: false }}
        valueFormatter={(gas) => `${gas.toLocaleString('en')} gas`}
        xAxisProps={{
          type: 'number',
          domain: [from, newest],
          ticks: ticksBetween(from, newest),
          tickFormatter: (at: number) => `${Math.round((at - newest) / 1_000)} s`,
          allowDataOverflow: true,
        }}
        yAxisProps={{ width: 80, tickFormatter: (gas: number) => gas.toLocaleString('en', { notation: 'compact' }) }}
        tooltipProps={{ labelFormatter: (at) => new Date(Number(at)).toLocaleTimeString() }}
        referenceLines={disturbances.map(({ at, kind }) => ({ x: at, label: kind, color: 'var(--danger)' }))}
      />
    </div>
  )
}

const STEPS_MS = [2_000, 5_000, 15_000]
const MAX_TICKS = 7

/** Ticks in whole steps back from the newest mark. */
function ticksBetween(from: number, newest: number): number[] {
  const step = STEPS_MS.find((each) => (newest - from) / each < MAX_TICKS) ?? STEPS_MS.at(-1)!
  return Array.from({ length: Math.floor((newest - from) / step) + 1 }, (_, back) => newest - back * step).toReversed()
}
