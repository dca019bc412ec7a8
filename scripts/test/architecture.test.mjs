// Imports go one way: what ARCHITECTURE.md's table allows is what each package.json may depend on. That a package imports
// only what its package.json names is Biome's rule (`noUndeclaredDependencies`).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageFolders, root } from '../install.mjs'

const NEST = ['packages/service', 'packages/nestjs-x402', 'apps/simulator-gateway', 'apps/billing']

/** By folder: the names in the table's column "may import". */
const allowed = new Map(
  [...readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').matchAll(/^\| `([\w/-]+)` *\|.*\| *([^|]*?) *\|$/gm)].map(
    ([, folder, column]) => [folder, column === 'nothing of ours' ? [] : column.split(', ')],
  ),
)

const manifestOf = (folder) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))

describe.each(packageFolders())('%s', (folder) => {
  const dependencies = Object.keys(manifestOf(folder).dependencies ?? {})

  it('depends on what ARCHITECTURE.md allows', () => {
    const ours = dependencies
      .filter((name) => name.startsWith('@upfront/'))
      .map((name) => name.slice('@upfront/'.length))
    expect(allowed.get(folder)).toEqual(expect.arrayContaining(ours))
  })

  if (!NEST.includes(folder) && !folder.startsWith('examples/'))
    it('does not depend on NestJS', () => {
      expect(dependencies.filter((name) => name.startsWith('@nestjs/'))).toEqual([])
    })
})
