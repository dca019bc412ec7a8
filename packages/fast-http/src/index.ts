export type { FastRequest } from './connection.js'
export { type Front, type FrontOptions, standBefore } from './stand-before.js'
