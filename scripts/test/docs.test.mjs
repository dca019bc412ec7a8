// Checks docs/ and READMEs against the repository: linked files exist, and so do settings and metrics named in docs/; every package, setting
// and command is documented.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { load } from 'js-yaml'
import { packageFolders, root } from '../install.mjs'

const files = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => join(root, 'docs', name))
const readmes = ['.', 'infra', ...packageFolders()]
  .map((folder) => join(root, folder, 'README.md'))
  .filter((file) => existsSync(file))
const source = ['apps/simulator-gateway/src', 'apps/billing/src', 'examples/paying-buyer/src', 'infra']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((name) => /(\.ts|\.ya?ml|Dockerfile)$/.test(name))
      .map((name) => readFileSync(join(root, folder, name), 'utf8')),
  )
  .join('\n')

it.each([...files, ...readmes])('%s links to existing files', (file) => {
  const text = readFileSync(file, 'utf8').replace(/^```.*?^```/gms, '')
  const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link]) => link)
  expect(links.filter((link) => !existsSync(join(dirname(file), link)))).toEqual([])
})

it.each(packageFolders())('%s has a README', (folder) => {
  expect(existsSync(join(root, folder, 'README.md'))).toBe(true)
})

it.each(['apps/simulator-gateway', 'apps/billing'])('the README of %s names all of its settings', (folder) => {
  const readme = readFileSync(join(root, folder, 'README.md'), 'utf8')
  const [, settings] = readFileSync(join(root, folder, 'src/environment/environment.ts'), 'utf8').split(
    /export class Environment |\n}\n/,
  )
  const names = [...settings.matchAll(/^ {2}([A-Z][A-Z0-9_]+)[?!]?(?::| =)/gm)].map(([, name]) => name)
  const tables = readme.match(/^(\| `[A-Z].*|Rarely set: [\s\S]*?\n\n)/gm).join('\n')
  expect(names.length).toBeGreaterThan(10)
  expect(names.filter((name) => !tables.includes(`\`${name}\``))).toEqual([])
})

it('READMEs and CONTRIBUTING name every command of package.json', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const text = [...readmes, join(root, 'CONTRIBUTING.md')].map((file) => readFileSync(file, 'utf8')).join('\n')
  const isNamed = (name) => new RegExp(`[\`\\s]${name}[\`\\s,]`).test(text)
  expect(Object.keys(scripts).filter((name) => !isNamed(name))).toEqual([])
})

describe.each(files)('%s', (file) => {
  const text = readFileSync(file, 'utf8')

  it('names only existing settings and metrics', () => {
    const names = [...text.matchAll(/\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|upfront_[a-z_]+[a-z])\b/g)].map(([name]) => name)
    expect([...new Set(names)].filter((name) => !name.startsWith('OTEL_') && !source.includes(name))).toEqual([])
  })
})

describe('alert rules', () => {
  const { groups } = load(readFileSync(join(root, 'infra/alerts.yaml'), 'utf8'))
  const rules = groups.flatMap(({ rules }) => rules)

  it.each(rules.map((rule) => [rule.alert, rule]))(
    '%s uses existing metrics and has a runbook',
    (name, { expr, annotations }) => {
      for (const [metric] of expr.matchAll(/\b(upfront|billing)_[a-z_]+[a-z]/g)) expect(source).toContain(metric)
      const [file, anchor] = annotations.runbook.split('#')
      expect(anchor).toBe(name.toLowerCase())
      const section = readFileSync(join(root, file), 'utf8')
        .split(/^###? /m)
        .find((text) => text.startsWith(`${name}\n`))
      for (const part of ['Means', 'Look at', 'Do']) expect(section).toContain(`- **${part}**: `)
    },
  )

  it('match the runbooks in docs/operating.md, in order', () => {
    const sections = [...readFileSync(join(root, 'docs/operating.md'), 'utf8').matchAll(/^### (\w+)$/gm)].map(
      ([, name]) => name,
    )
    expect(sections).toEqual(rules.map(({ alert }) => alert))
  })
})
