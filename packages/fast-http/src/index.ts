export type { FastRequest, FrontOptions, MemoryShare } from './front-options.js'
export { type Front, standBefore } from './stand-before.js'
