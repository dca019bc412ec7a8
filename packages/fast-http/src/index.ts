export type { FastRequest, FrontOptions, MemoryShare } from './front-options.js'
export { ReceivedBytes } from './received-bytes.js'
export { type Front, standBefore } from './stand-before.js'
export { inSlices, writeInSlices } from './write-in-slices.js'
