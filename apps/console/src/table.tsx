import { type ReactNode, useState } from 'react'
import { Wide } from './wide.js'

interface Column<Row> {
  head: string
  cell(row: Row): ReactNode
}

interface Props<Row> {
  caption: string
  columns: Column<Row>[]
  rows: readonly Row[]
  rowKey(row: Row, index: number): string | number
  id?: string
}

/** Rows shown at first, and how many each press of the button adds. */
const FIRST_ROWS = 100
const MORE_ROWS = 1_000

/** A table that scrolls by itself where it is wide, and shows long lists in parts. */
export function Table<Row>({ caption, columns, rows, rowKey, id }: Props<Row>) {
  const [most, setMost] = useState(FIRST_ROWS)
  return (
    <Wide label={caption}>
      <table id={id}>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ head }) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, most).map((row, index) => (
            <tr key={rowKey(row, index)}>
              {columns.map(({ head, cell }) => (
                <td key={head}>{cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > most && (
        <button type="button" onClick={() => setMost(most + MORE_ROWS)}>
          Show more: {most} of {rows.length} rows are shown
        </button>
      )}
    </Wide>
  )
}
