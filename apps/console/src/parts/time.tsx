/** A time in the reader's zone; the original on hover. */
export function Time({ at }: { at: string }) {
  const time = new Date(at)
  return (
    <time dateTime={at} title={at}>
      {time.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })}
    </time>
  )
}
