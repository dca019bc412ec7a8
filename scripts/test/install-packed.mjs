// Installs our packages like a third party: from their tarballs alone, with the dependencies that they declare.
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../install.mjs'

const run = promisify(execFile)

/** The folder of a package as resolved from another one. */
const folderOf = (name, from) => realpathSync(join(from, 'node_modules', name))

/** Links a package, as resolved from another one, into another node_modules. */
export function link(name, from, to) {
  const place = join(to, name)
  mkdirSync(dirname(place), { recursive: true })
  symlinkSync(folderOf(name, from), place)
}

/** Packs packages and unpacks them into the project's node_modules. @returns their manifests by name */
export async function installPacked(project, names) {
  const modules = join(project, 'node_modules')
  const manifests = {}
  const sources = names.map((name) => join(root, 'packages', name))
  // All at once, because npm takes longer to start than to pack.
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', project, ...sources]
  const { stdout } = await run('npm', pack, { cwd: project })
  // npm returns a list of what it packed; since npm 11.19, an object by name.
  const packed = Object.values(JSON.parse(stdout))
  for (const [index, name] of names.entries()) {
    const source = sources[index]
    const { filename } = packed.find((entry) => entry.name === `@upfront/${name}`)
    const folder = join(modules, '@upfront', name)
    mkdirSync(folder, { recursive: true })
    await run('tar', ['-xzf', join(project, filename), '-C', folder, '--strip-components=1'])
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    manifests[name] = manifest
    // Dependencies are linked where only the package sees them, peers come from the project.
    for (const dependency of Object.keys(manifest.dependencies ?? {}))
      if (!dependency.startsWith('@upfront/')) link(dependency, source, join(folder, 'node_modules'))
    for (const peer of Object.keys(manifest.peerDependencies ?? {})) link(peer, source, modules)
  }
  return manifests
}
