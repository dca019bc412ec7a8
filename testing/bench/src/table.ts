/** Formats rows as a Markdown table, the first column left-aligned, the others right-aligned. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)))
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, column) => (column === 0 ? (row[column] ?? '').padEnd(width) : (row[column] ?? '').padStart(width))).join(' | ')} |`
  const rule = `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  return [line(head), rule, ...rows.map(line)].join('\n')
}

/** Three significant digits, without an exponent. */
export function formatNumber(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return ''
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
