import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type * as Native from '../index.cjs'

export type Addon = typeof Native
export type NativeEngine = Native.NativeEngine

export type RevmAvailability = { addon: Addon; reason?: undefined } | { addon: undefined; reason: string }

let loaded: RevmAvailability | undefined

/** The addon, or why there is none: it is built only where `cargo` is (see `build-addon.mjs`). Never throws. */
export function loadRevm(): RevmAvailability {
  loaded ??= load()
  return loaded
}

function load(): RevmAvailability {
  const path = fileURLToPath(new URL('../index.node', import.meta.url))
  if (!existsSync(path)) return { addon: undefined, reason: 'the native engine is not built (is cargo installed?)' }
  try {
    return { addon: createRequire(import.meta.url)(path) as Addon }
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    return { addon: undefined, reason: `the native engine does not load here: ${reason}` }
  }
}
