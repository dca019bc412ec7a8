/** What `read` answers, asked anew once it is so old, or has failed. Who asks meanwhile waits for the same answer. */
export function aged<T>(milliseconds: number, read: () => Promise<T>): () => Promise<T> {
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
