// What docs/ says of the repository: files that it links to are there, settings and metrics that it names exist.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../install.mjs'

const files = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => join(root, 'docs', name))
const source = ['apps/simulator-gateway/src', 'apps/billing/src', 'infra']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((name) => /(\.ts|\.ya?ml|Dockerfile)$/.test(name))
      .map((name) => readFileSync(join(root, folder, name), 'utf8')),
  )
  .join('\n')

describe.each(files)('%s', (file) => {
  const text = readFileSync(file, 'utf8')

  it('links to what is there', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link]) => link)
    expect(links.filter((link) => !existsSync(join(dirname(file), link)))).toEqual([])
  })

  it('names settings and metrics that exist', () => {
    const names = [...text.matchAll(/\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|upfront_[a-z_]+[a-z])\b/g)].map(([name]) => name)
    expect([...new Set(names)].filter((name) => !name.startsWith('OTEL_') && !source.includes(name))).toEqual([])
  })
})
