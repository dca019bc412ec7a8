import { useEffect, useState } from 'react'
import { webSocketUrl } from '../rpc.js'
import { Table } from '../table.js'
import { follow, type Sight } from './follow.js'
import { ageText, type Readiness, verifiedText, watchReadiness } from './readiness.js'
import { StreamFaults } from './stream-faults.js'
import type { Disturbance } from './time-line.js'

/** Heads and flashblocks shown at most. */
const MOST_SHOWN = 50
/** Marks of the time line at most. */
const MOST_MARKS = 120
/** Disturbances listed at most: they stay longer than their marks. */
const MOST_DISTURBANCES = 50

/** What the page was told, numbered in the order in which it was told. */
interface Mark {
  id: number
  /** Absent for what went wrong with the stream alone. */
  sight?: Sight
  disturbance?: Disturbance | undefined
}

/** Heads and flashblocks as they come. */
export function LivePage() {
  /** Newest first. */
  const [marks, setMarks] = useState<Mark[]>([])
  const [status, setStatus] = useState('Connecting …')
  const [losses, setLosses] = useState(0)
  const [readiness, setReadiness] = useState<Readiness>({})
  useEffect(() => {
    const add = (mark: Omit<Mark, 'id'>) =>
      setMarks((known) => {
        const marks = [{ id: (known[0]?.id ?? 0) + 1, ...mark }, ...known]
        return marks
          .filter(({ disturbance }, at) => at < MOST_MARKS || disturbance !== undefined)
          .slice(0, MOST_MARKS + MOST_DISTURBANCES)
      })
    const faults = new StreamFaults()
    const stopWatching = watchReadiness((report) => {
      setReadiness(report)
      for (const disturbance of faults.unseen(report)) add({ disturbance })
    })
    const stopFollowing = follow(webSocketUrl(location), {
      onSight: (sight) => add({ sight, disturbance: sight.disturbance }),
      onStatus: setStatus,
      onLost: () => setLosses((count) => count + 1),
    })
    return () => {
      stopWatching()
      stopFollowing()
    }
  }, [])
  const sights = marks.flatMap(({ id, sight }) => (sight === undefined ? [] : [{ id, ...sight }]))
  return (
    <>
      <h2>Live</h2>
      <p role="status">{status}</p>
      <p>{ageText(readiness)}</p>
      <Line marks={marks.toReversed()} losses={losses} />
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

/** Heads and flashblocks as marks, the oldest first. Disturbances stand out, and are listed below. @param marks oldest first */
function Line({ marks, losses }: { marks: Mark[]; losses: number }) {
  const disturbances = marks.flatMap(({ id, disturbance }) =>
    disturbance === undefined ? [] : [{ id, ...disturbance }],
  )
  return (
    <section aria-labelledby="line">
      <h3 id="line">Time line</h3>
      <ul className="line" aria-hidden="true">
        {marks.slice(-MOST_MARKS).map(({ id, sight, disturbance }) => (
          <li
            key={id}
            className={`${sight?.what === 'head' ? '' : 'flashblock'} ${disturbance ? 'disturbed' : ''}`}
            title={disturbance?.text ?? sight?.what}
          />
        ))}
      </ul>
      <p>
        {disturbances.length === 0 ? 'No gap and no reorganisation' : `Disturbances: ${disturbances.length}`}
        {losses > 0 && `, connection lost ${losses} times`}
      </p>
      <ul>
        {disturbances.map(({ id, kind, text }) => (
          <li key={id}>
            {kind}: {text}
          </li>
        ))}
      </ul>
    </section>
  )
}
