import { createPortableEngine, createRevmEngine, loadRevm } from '../src/index.js'

const { reason } = loadRevm()
if (reason !== undefined) console.log(`tests of the native build are skipped: ${reason}`)

/** The available builds of the engine, by name. */
export const BUILDS: [name: string, create: typeof createRevmEngine][] = [
  ...(reason === undefined ? [['native', createRevmEngine] as [string, typeof createRevmEngine]] : []),
  ['portable', createPortableEngine],
]
