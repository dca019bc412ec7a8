// What the checker takes of `node:timers`, on a page.

const later = (run: () => void) => self.setTimeout(run, 0)

export { later as setImmediate }
