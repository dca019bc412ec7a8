// What the checker takes of `node:timers/promises`, on a page.

const pause = (ms = 0) => new Promise<void>((resolve) => self.setTimeout(resolve, ms))
const later = () => pause()

export { later as setImmediate, pause as setTimeout }
