type Json = { [key: string]: Json } | Json[] | string | number | boolean | null

/** Without what follows from our state root, which is zero: it and each block's hash. */
export function comparable(blocks: unknown): Json {
  let text = JSON.stringify(blocks)
  if (Array.isArray(blocks)) {
    blocks.forEach((block, index) => {
      const { hash } = block as { hash: string }
      text = text.replaceAll(hash.slice(2), `hash of block ${index}`)
    })
  }
  return JSON.parse(text, (key, value) => (key === 'stateRoot' ? undefined : value))
}

/** Without the place that our messages begin with. */
export function withoutPlace(message: string): string {
  return message.replace(/^blockStateCalls[^ ]*: /, '')
}
