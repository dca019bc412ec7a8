import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

/** The compiler version that builds the module. */
export const compiler = '1.95.0'
/** Name of the module's section with the hash of its sources. */
export const SECTION = 'sources'

const at = (path) => new URL(path, import.meta.url)
const CRATES = ['border', 'engine', 'portable']

/** Hash of the module's sources: the crates that it links, without tests, Cargo.lock, and this file with the compiler's version. */
export function sourcesHash() {
  const crates = CRATES.flatMap((crate) => [`${crate}/Cargo.toml`, ...sources(`${crate}/src`)]).map(
    (path) => `crates/${path}`,
  )
  const hash = createHash('sha256')
  const build = ['border', 'portable'].map((crate) => `crates/${crate}/build.rs`)
  for (const path of ['Cargo.toml', 'Cargo.lock', ...build, 'portable-sources.mjs', ...crates.sort()])
    hash.update(`${path}\n`).update(readFileSync(at(path), 'utf8').replaceAll('\r\n', '\n'))
  return hash.digest('hex')
}

function sources(folder) {
  return readdirSync(at(`crates/${folder}`), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return sources(path)
    return /(^|[/_])tests\.rs$/.test(path) ? [] : [path]
  })
}
