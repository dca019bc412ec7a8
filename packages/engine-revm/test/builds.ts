import { createPortableEngine, createRevmEngine, loadRevm } from '../src/index.js'

const { reason } = loadRevm()
if (reason !== undefined) console.log(`what only the native build shows is skipped: ${reason}`)

/** The available builds of the engine, by name. */
export const BUILDS: [name: string, create: typeof createRevmEngine][] = [
  ...(reason === undefined ? [['native', createRevmEngine] as [string, typeof createRevmEngine]] : []),
  ['portable', createPortableEngine],
]
