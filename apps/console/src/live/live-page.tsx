import { Hash } from '../parts/address.js'
import { Notice } from '../parts/notice.js'
import { Table } from '../parts/table.js'
import { type FeedState, useFeed } from './feed.js'
import { GasLine } from './gas-line.js'
import { ageText, verifiedText } from './readiness.js'
import { TruthCard } from './truth-card.js'

/** Most heads and flashblocks shown. */
const MAX_SHOWN = 50

const CONNECTIONS = {
  connecting: 'Connecting …',
  following: 'Following new blocks',
  lost: 'Connection lost: reconnecting',
}

/** Shows heads and flashblocks as they arrive. */
export function LivePage() {
  const feed = useFeed((state) => state)
  const { marks, readiness } = feed
  const sights = marks.flatMap(({ id, sight }) => (sight === undefined ? [] : [{ id, ...sight }]))
  return (
    <div className="stack wider">
      <p className="lead">The newest blocks as the gateway sees them, and what was wrong with them lately.</p>
      <Health feed={feed} />
      <section className="card" aria-label="Gas">
        <GasLine marks={marks} hasFlashblocks={feed.hasFlashblocks} />
      </section>
      {readiness.scores && <TruthCard />}
      <section className="card">
        <Table
          caption="Blocks and flashblocks, newest first"
          rows={sights.slice(0, MAX_SHOWN)}
          rowKey={({ id }) => id}
          columns={[
            { head: 'What', cell: ({ what }) => <span className="whole">{what}</span> },
            { head: 'Block', isNumber: true, cell: ({ block }) => block },
            { head: 'Gas used', isNumber: true, cell: ({ gasUsed }) => gasUsed.toLocaleString('en') },
            { head: 'Our own execution', cell: ({ hash, what }) => verifiedText(hash, what !== 'head', readiness) },
            { head: 'Hash', cell: ({ hash }) => <Hash value={hash} /> },
          ]}
        />
      </section>
    </div>
  )
}

/** A one-sentence status, green without recent problems. */
function Health({ feed: { connection, hasFlashblocks, losses, marks, readiness } }: { feed: FeedState }) {
  const disturbances = marks.flatMap(({ id, disturbance }) =>
    disturbance === undefined ? [] : [{ id, ...disturbance }],
  )
  const status =
    hasFlashblocks && connection === 'following' ? 'Following new blocks and flashblocks' : CONNECTIONS[connection]
  const isWell = connection === 'following' && disturbances.length === 0
  return (
    <Notice level={connection === 'lost' ? 'danger' : isWell ? 'good' : 'caution'} role="status" title={status}>
      <div>
        {disturbances.length === 0
          ? 'No gap or reorganisation lately'
          : `${disturbances.length === 1 ? 'One disturbance' : `${disturbances.length} disturbances`} in the last five minutes`}
        {losses > 0 && `; connection lost ${losses} times`}.
      </div>
      <div className="quiet">{capital(ageText(readiness))}</div>
      <ul>
        {disturbances.slice(0, 10).map(({ id, kind, text }) => (
          <li key={id}>
            {kind}: {text}
          </li>
        ))}
      </ul>
    </Notice>
  )
}

function capital(text: string): string {
  return text === '' ? '' : `${text[0]!.toUpperCase()}${text.slice(1)}.`
}
