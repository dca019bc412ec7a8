// What the checker takes of `node:events`, on a page.

/** Pages don't warn of many listeners. */
export function setMaxListeners(): void {}
