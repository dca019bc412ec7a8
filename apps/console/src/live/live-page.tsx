import { useEffect, useState } from 'react'
import { webSocketUrl } from '../rpc.js'
import { follow, type Sight } from './follow.js'

/** Heads and flashblocks shown at most. */
const MOST_SHOWN = 50

/** Heads and flashblocks as they come. */
export function LivePage() {
  const [sights, setSights] = useState<Sight[]>([])
  const [status, setStatus] = useState('Connecting …')
  useEffect(
    () =>
      follow(webSocketUrl(location), {
        onSight: (sight) => setSights((seen) => [sight, ...seen].slice(0, MOST_SHOWN)),
        onStatus: setStatus,
      }),
    [],
  )
  return (
    <>
      <h2>Live</h2>
      <p role="status">{status}</p>
      <table>
        <caption>Newest first</caption>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">Block</th>
            <th scope="col">Gas used</th>
            <th scope="col">Hash</th>
          </tr>
        </thead>
        <tbody>
          {sights.map(({ id, what, block, gasUsed, hash }) => (
            <tr key={id}>
              <td>{what}</td>
              <td>{block}</td>
              <td>{gasUsed}</td>
              <td>
                <code>{hash}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}
