import { readFileSync } from 'node:fs'

let compiled: WebAssembly.Module | undefined

/** The engine's module, which `npm run build:portable` builds, compiled once for the process. */
export function portableModule(): object {
  compiled ??= new WebAssembly.Module(readFileSync(new URL('../../portable.wasm', import.meta.url)))
  return compiled
}
