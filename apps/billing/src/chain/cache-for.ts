/** Caches the result of `read` for this long. Concurrent callers share one read; a failed read is not cached. */
export function cacheFor<T>(milliseconds: number, read: () => Promise<T>): () => Promise<T> {
  let known: { answer: Promise<T>; at: number } | undefined
  return () => {
    if (known !== undefined && Date.now() - known.at <= milliseconds) return known.answer
    const asked = { answer: read(), at: Date.now() }
    known = asked
    asked.answer.catch(() => {
      if (known === asked) known = undefined
    })
    return asked.answer
  }
}
