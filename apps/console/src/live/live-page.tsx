import { useEffect, useState } from 'react'
import { webSocketUrl } from '../rpc.js'
import { Wide } from '../wide.js'
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
      <Wide label="Heads and flashblocks">
        <table>
          <caption>Newest first</caption>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">Block</th>
              <th scope="col">Gas used</th>
              <th scope="col">Our own execution</th>
              <th scope="col">Hash</th>
            </tr>
          </thead>
          <tbody>
            {sights.slice(0, MOST_SHOWN).map(({ id, what, block, gasUsed, hash }) => (
              <tr key={id}>
                <td>{what}</td>
                <td>{block}</td>
                <td>{gasUsed}</td>
                <td>{verifiedText(hash, what !== 'head', readiness)}</td>
                <td>
                  <code>{hash}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
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
