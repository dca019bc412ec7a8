/** Asks again and again, so long after each answer. One that `read` takes for none is passed over. @returns what ends it */
export function poll<T>(
  path: string,
  everyMs: number,
  read: (response: Response) => Promise<T> | undefined,
  onAnswer: (answer: T) => void,
): () => void {
  const left = new AbortController()
  let timer: ReturnType<typeof setTimeout>
  const look = async () => {
    const response = fetch(path, { signal: left.signal })
    // The connection's status says already that the gateway is gone.
    const answer = await response.then(read).catch(() => undefined)
    if (left.signal.aborted) return
    if (answer !== undefined) onAnswer(answer)
    timer = setTimeout(look, everyMs)
  }
  void look()
  return () => {
    clearTimeout(timer)
    left.abort()
  }
}
