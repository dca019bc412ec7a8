import { useEffect, useState } from 'react'
import { webSocketUrl } from '../rpc.js'
import { Table } from '../table.js'
import { follow, type Sight } from './follow.js'
import { ageText, type Readiness, verifiedText, watchReadiness } from './readiness.js'

/** Heads and flashblocks shown at most. */
const MOST_SHOWN = 50
/** Marks of the time line at most. */
const MOST_MARKS = 120

/** Heads and flashblocks as they come. */
export function LivePage() {
  const [sights, setSights] = useState<Sight[]>([])
  const [status, setStatus] = useState('Connecting …')
  const [losses, setLosses] = useState(0)
  const [readiness, setReadiness] = useState<Readiness>({})
  useEffect(() => watchReadiness(setReadiness), [])
  useEffect(
    () =>
      follow(webSocketUrl(location), {
        onSight: (sight) => setSights((seen) => [sight, ...seen].slice(0, MOST_MARKS)),
        onStatus: setStatus,
        onLost: () => setLosses((count) => count + 1),
      }),
    [],
  )
  return (
    <>
      <h2>Live</h2>
      <p role="status">{status}</p>
      <p>{ageText(readiness)}</p>
      <Line sights={sights} losses={losses} />
      <Table
        caption="Heads and flashblocks, newest first"
        rows={sights.slice(0, MOST_SHOWN)}
        rowKey={({ id }) => id}
        columns={[
          { head: 'What', cell: ({ what }) => what },
          { head: 'Block', cell: ({ block }) => block },
          { head: 'Gas used', cell: ({ gasUsed }) => gasUsed },
          { head: 'Our own execution', cell: ({ hash, what }) => verifiedText(hash, what !== 'head', readiness) },
          { head: 'Hash', cell: ({ hash }) => <code>{hash}</code> },
        ]}
      />
    </>
  )
}

/** Heads and flashblocks as marks, the oldest first; gaps, restarts and reorganisations stand out, and are told below. */
function Line({ sights, losses }: { sights: Sight[]; losses: number }) {
  const marks = sights.toReversed()
  const disturbed = marks.filter(({ disturbance }) => disturbance !== undefined)
  return (
    <section aria-labelledby="line">
      <h3 id="line">Time line</h3>
      <ul className="line" aria-hidden="true">
        {marks.map(({ id, what, disturbance }) => (
          <li
            key={id}
            className={`${what === 'head' ? '' : 'flashblock'} ${disturbance ? 'disturbed' : ''}`}
            title={disturbance?.text ?? what}
          />
        ))}
      </ul>
      <p>
        {disturbed.length === 0
          ? 'No gap and no reorganisation'
          : `${disturbed.length} gaps, restarts and reorganisations`}
        {losses > 0 && `, connection lost ${losses} times`}
      </p>
      <ul>
        {disturbed.map(({ id, disturbance }) => (
          <li key={id}>
            {disturbance!.kind}: {disturbance!.text}
          </li>
        ))}
      </ul>
    </section>
  )
}
