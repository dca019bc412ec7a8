import { Button, Table as MantineTable } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Wide } from './wide.js'

interface Column<Row> {
  head: string
  cell(row: Row): ReactNode
  /** Whether the column holds numbers. */
  isNumber?: boolean
}

interface Props<Row> {
  caption: string
  /** Set if a heading above already says it. */
  isCaptionHidden?: boolean
  columns: Column<Row>[]
  rows: readonly Row[]
  rowKey(row: Row, index: number): string | number
}

/** Rows shown at first, and rows added by each click. */
const FIRST_ROWS = 100
const MORE_ROWS = 1_000

/** A table that scrolls if it is wide, and shows long lists in pages. */
export function Table<Row>({ caption, isCaptionHidden = false, columns, rows, rowKey }: Props<Row>) {
  const [most, setMost] = useState(FIRST_ROWS)
  return (
    <Wide label={caption}>
      <MantineTable
        aria-label={isCaptionHidden ? caption : undefined}
        captionSide="top"
        verticalSpacing="xs"
        highlightOnHover
      >
        {!isCaptionHidden && <MantineTable.Caption>{caption}</MantineTable.Caption>}
        <MantineTable.Thead>
          <MantineTable.Tr>
            {columns.map(({ head, isNumber }) => (
              <MantineTable.Th key={head} scope="col" className={isNumber ? 'number' : undefined}>
                {head}
              </MantineTable.Th>
            ))}
          </MantineTable.Tr>
        </MantineTable.Thead>
        <MantineTable.Tbody>
          {rows.slice(0, most).map((row, index) => (
            <MantineTable.Tr key={rowKey(row, index)}>
              {columns.map(({ head, cell, isNumber }) => (
                <MantineTable.Td key={head} className={isNumber ? 'number' : undefined}>
                  {cell(row)}
                </MantineTable.Td>
              ))}
            </MantineTable.Tr>
          ))}
        </MantineTable.Tbody>
      </MantineTable>
      {rows.length > most && (
        <Button variant="default" size="xs" onClick={() => setMost(most + MORE_ROWS)}>
          Show more: {most} of {rows.length} rows are shown
        </Button>
      )}
    </Wide>
  )
}
