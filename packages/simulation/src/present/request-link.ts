import type { Hash } from '@upfront/protocol'

/** Browsers and chats take longer ones, but not all. */
const MOST_LENGTH = 64 * 1024

/**
 * A request as a link to the page, behind its `#`, so that no server sees it: on the state after this block, so that it says the same later, too.
 * @returns a path; undefined where it would be too long
 */
export function requestLink(payload: object, blockHash: Hash): string | undefined {
  const link = `/console/#${encodeURIComponent(JSON.stringify([payload, { blockHash }]))}`
  return link.length > MOST_LENGTH ? undefined : link
}
