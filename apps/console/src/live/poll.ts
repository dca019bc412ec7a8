/** Polls a path with pauses; skips answers for which `read` fails or returns undefined. @returns a function that stops it */
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
    // The connection status already shows that the gateway is unreachable.
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
