export type { FastRequest, FrontOptions } from './front-options.js'
export { type Front, standBefore } from './stand-before.js'
