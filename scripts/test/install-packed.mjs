// Installs our packages as a stranger would: the tarballs alone, with what they say that they need.
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../install.mjs'

const run = promisify(execFile)

/** The folder of a package as another one finds it. */
const folderOf = (name, from) => realpathSync(join(from, 'node_modules', name))

/** Puts a package that another one finds into a node_modules of its own. */
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
  // All at once: npm takes longer to start than to pack.
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', project, ...sources]
  const { stdout } = await run('npm', pack, { cwd: project })
  // npm lists what it packed, npm 11.19 and later by name.
  const packed = Object.values(JSON.parse(stdout))
  for (const [index, name] of names.entries()) {
    const source = sources[index]
    const { filename } = packed.find((entry) => entry.name === `@upfront/${name}`)
    const folder = join(modules, '@upfront', name)
    mkdirSync(folder, { recursive: true })
    await run('tar', ['-xzf', join(project, filename), '-C', folder, '--strip-components=1'])
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    manifests[name] = manifest
    // Its dependencies where only it sees them, its peers where the project has them.
    for (const dependency of Object.keys(manifest.dependencies ?? {}))
      if (!dependency.startsWith('@upfront/')) link(dependency, source, join(folder, 'node_modules'))
    for (const peer of Object.keys(manifest.peerDependencies ?? {})) link(peer, source, modules)
  }
  return manifests
}
