import { useEffect, useState } from 'react'
import { Hash } from '../parts/address.js'
import { Table } from '../parts/table.js'
import { missText, type Truth, truthText, watchTruth } from './truth.js'

/** Most misses shown. */
const MAX_SHOWN = 20

/** Shows how the gateway's predictions turned out. */
export function TruthCard() {
  const [truth, setTruth] = useState<Truth>()
  useEffect(() => watchTruth(setTruth), [])
  if (truth === undefined) return null
  const misses = truth.misses.slice(-MAX_SHOWN).reverse()
  return (
    <section className="card" aria-label="Predictions">
      <p>
        {truthText(truth)} <a href="/v1/truth">The signed summary</a>
      </p>
      {misses.length > 0 && (
        <Table
          caption="Predictions that were wrong, newest first"
          rows={misses}
          rowKey={({ transaction }) => transaction}
          columns={[
            { head: 'Transaction', cell: ({ transaction }) => <Hash value={transaction} /> },
            { head: 'Wrong', cell: ({ differs }) => differs.join(', ') },
            { head: 'Why', cell: (miss) => missText(miss) },
          ]}
        />
      )}
    </section>
  )
}
