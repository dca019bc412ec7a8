/** A time where the reader is; the whole of it, as it was given, on a hover. */
export function Time({ at }: { at: string }) {
  const time = new Date(at)
  return (
    <time dateTime={at} title={at}>
      {time.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })}
    </time>
  )
}
