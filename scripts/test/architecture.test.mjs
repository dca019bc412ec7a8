// Imports go one way: each package.json may only depend on what ARCHITECTURE.md's table allows. Biome's rule `noUndeclaredDependencies`
// checks that a package only imports what its package.json names.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { packageFolders, root } from '../install.mjs'

const NEST = ['packages/service', 'packages/nestjs-x402', 'apps/simulator-gateway', 'apps/billing']

/** By folder: the names in the table's column "may import". */
const allowed = new Map(
  [...readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').matchAll(/^\| `([\w/-]+)` *\|.*\| *([^|]*?) *\|$/gm)].map(
    ([, folder, column]) => [folder, column === 'nothing of ours' ? [] : column.split(', ')],
  ),
)

const manifestOf = (folder) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))

/** The program's source files, without tests. */
const sourcesOf = (folder) =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', folder], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((path) => /(?<!\.test|\.d)\.[cm]?[jt]sx?$/.test(path) && !path.startsWith(`${folder}/test/`))
    .map((path) => readFileSync(join(root, path), 'utf8'))

/** Peer dependencies of a dependency. */
const peersOf = (folder, name) => {
  const manifest = join(root, folder, 'node_modules', name, 'package.json')
  return Object.keys(JSON.parse(readFileSync(manifest, 'utf8')).peerDependencies ?? {})
}

describe.each(packageFolders())('%s', (folder) => {
  const dependencies = Object.keys(manifestOf(folder).dependencies ?? {})

  it('depends only on the packages that ARCHITECTURE.md allows', () => {
    const ours = dependencies
      .filter((name) => name.startsWith('@upfront/'))
      .map((name) => name.slice('@upfront/'.length))
    expect(allowed.get(folder)).toEqual(expect.arrayContaining(ours))
  })

  it('imports every dependency', () => {
    const text = sourcesOf(folder).join('\n')
    const peers = new Set(dependencies.flatMap((name) => peersOf(folder, name)))
    const isImported = (name) => text.includes(`'${name}'`) || text.includes(`'${name}/`)
    expect(dependencies.filter((name) => !isImported(name) && !peers.has(name))).toEqual([])
  })

  if (!NEST.includes(folder) && !folder.startsWith('examples/'))
    it('does not depend on NestJS', () => {
      expect(dependencies.filter((name) => name.startsWith('@nestjs/'))).toEqual([])
    })
})

describe('paths in ARCHITECTURE.md', () => {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  const places = new Set([...text.matchAll(/`([a-z][\w-]*(?:\/[\w.-]+)+)`/g)].map(([, place]) => place))
  const rooms = ['', 'packages', 'apps', 'apps/simulator-gateway/src']

  it.each([...places])('%s exists', (place) => {
    expect(rooms.some((room) => existsSync(join(root, room, place)))).toBe(true)
  })

  it.each([
    ['simulation', 12],
    ['block', 6],
  ])('describe the way of a %s in few steps', (what, most) => {
    const [, way] = new RegExp(`^## The way of a ${what}$(.*?)^## `, 'ms').exec(text)
    const hops = way.match(/^\d+\. /gm).length
    expect(hops).toBeGreaterThan(2)
    expect(hops).toBeLessThanOrEqual(most)
  })
})

const withSource = packageFolders().filter((folder) => existsSync(join(root, folder, 'src')))

describe.each(withSource)('source folders of %s', (app) => {
  const source = join(root, app, 'src')
  const folderOf = (path) => (relative(source, path).includes(sep) ? relative(source, path).split(sep)[0] : '.')
  /** By folder: the folders that it imports. Files directly in `src` do the wiring and may import all. */
  const arrows = new Map()
  for (const file of readdirSync(source, { recursive: true }).filter((name) => /(?<!\.test)\.tsx?$/.test(name))) {
    const text = readFileSync(join(source, file), 'utf8')
    const from = folderOf(join(source, file))
    if (from === '.') continue
    for (const [, target] of text.matchAll(/from '(\.[^']+)'/g)) {
      const to = folderOf(join(source, dirname(file), target))
      if (to !== from && to !== '.') arrows.set(from, (arrows.get(from) ?? new Set()).add(to))
    }
  }

  it('do not import each other in circles', () => {
    const circles = []
    const walk = (folder, path) => {
      if (path.includes(folder)) return circles.push([...path.slice(path.indexOf(folder)), folder].join(' → '))
      for (const next of arrows.get(folder) ?? []) walk(next, [...path, folder])
    }
    for (const folder of arrows.keys()) walk(folder, [])
    expect(circles).toEqual([])
  })
})
