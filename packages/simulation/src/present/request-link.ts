import type { Hash } from '@upfront/protocol'

/** Not all browsers and chats accept longer links. */
const MAX_LENGTH = 64 * 1024

/**
 * A link to the page with the request in its fragment, which no server sees. It names the block by hash, so it shows the same later.
 * @returns a path; undefined if it would be too long
 */
export function requestLink(payload: object, blockHash: Hash): string | undefined {
  const link = `/console/#${encodeURIComponent(JSON.stringify([payload, { blockHash }]))}`
  return link.length > MAX_LENGTH ? undefined : link
}
