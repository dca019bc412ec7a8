import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type * as Native from '../index.cjs'
import { platformPackage } from './platform-package.js'

export type Addon = typeof Native
/** The methods common to the addon and the WebAssembly module. */
export type EngineCore = Omit<Native.NativeEngine, 'close'> & { close(): void | Promise<void> }
export type Message = Native.Message

export type RevmAvailability = { addon: Addon; reason?: undefined } | { addon: undefined; reason: string }

let loaded: RevmAvailability | undefined

/**
 * Loads the addon: the one built here (see `build-addon.mjs`), else the prebuilt one of this platform's package. If there is none, returns
 * why. Never throws.
 */
export function loadRevm(): RevmAvailability {
  loaded ??= loadAddon(new URL('..', import.meta.url), platformPackage())
  return loaded
}

/** @param home the package's folder @param prebuilt the package with this platform's addon */
export function loadAddon(home: URL, prebuilt: string | undefined): RevmAvailability {
  const require = createRequire(new URL('package.json', home))
  const built = fileURLToPath(new URL('index.node', home))
  const reasons: string[] = []
  if (existsSync(built)) {
    try {
      const lacks = lackingFeatures(home)
      if (lacks.length === 0) return { addon: require(built) as Addon }
      reasons.push(`built for a processor with ${lacks.join(', ')}: build it again here`)
    } catch (error) {
      reasons.push(`built but does not load here: ${firstLine(error)}`)
    }
  } else {
    reasons.push(causeOf(home))
  }
  if (prebuilt === undefined) {
    reasons.push('none is published for this platform')
  } else {
    try {
      return { addon: require(prebuilt) as Addon }
    } catch (error) {
      const absent = (error as { code?: unknown }).code === 'MODULE_NOT_FOUND'
      reasons.push(absent ? `${prebuilt} is not installed` : `${prebuilt} does not load here: ${firstLine(error)}`)
    }
  }
  return { addon: undefined, reason: `the native engine is ${reasons.join('; ')}` }
}

/** Why the last build made no addon. */
function causeOf(home: URL): string {
  const file = new URL('addon-cause.txt', home)
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : 'not built'
}

/** Processor features that the build needs and this processor lacks. */
function lackingFeatures(home: URL): string[] {
  const file = new URL('addon-needs.txt', home)
  const needs = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  if (needs.length === 0) return []
  const [, flags = ''] = /^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8')) ?? []
  return needs.filter((feature) => !flags.split(' ').includes(feature))
}

function firstLine(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
}
