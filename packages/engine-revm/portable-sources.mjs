import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

/** The compiler that builds the module. */
export const compiler = '1.95.0'
/** The module's section that has the hash of its sources. */
export const SECTION = 'sources'

const at = (path) => new URL(path, import.meta.url)
const CRATES = ['border', 'engine', 'portable']

/** What the module is made of: the crates that it links, without their tests, as they are locked, and this file's compiler. */
export function sourcesHash() {
  const crates = CRATES.flatMap((crate) => [`${crate}/Cargo.toml`, ...sources(`${crate}/src`)]).map(
    (path) => `crates/${path}`,
  )
  const hash = createHash('sha256')
  for (const path of ['Cargo.toml', 'Cargo.lock', 'crates/portable/build.rs', 'portable-sources.mjs', ...crates.sort()])
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
