import { readFileSync } from 'node:fs'

let compiled: WebAssembly.Module | undefined

/** The engine's module (built by `npm run build:portable`), compiled once per process. */
export function portableModule(): object {
  compiled ??= new WebAssembly.Module(readFileSync(new URL('../../portable.wasm', import.meta.url)))
  return compiled
}
