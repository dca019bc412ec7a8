// `npx @upfront/receipt verify`: the command from its tarball, with the packages that it depends on from theirs.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPacked } from './install-packed.mjs'

const PACKAGES = ['protocol', 'node', 'signatures', 'simulation', 'engine-revm', 'receipt']
const project = mkdtempSync(join(tmpdir(), 'buyer-'))
const folder = join(project, 'node_modules', '@upfront', 'receipt')
let manifests

beforeAll(async () => {
  manifests = await installPacked(project, PACKAGES)
}, 60_000)
afterAll(() => rmSync(project, { recursive: true, force: true }))

function verify(file) {
  const command = join(folder, manifests.receipt.bin.receipt)
  return spawnSync(process.execPath, [command, 'verify', file], { encoding: 'utf8', cwd: project })
}

it.each(PACKAGES)('%s has the files and manifest fields for publishing', (name) => {
  const { private: hidden, license, description, dependencies = {} } = manifests[name]
  expect({ hidden, license, description }).toMatchObject({ license: 'Apache-2.0', description: expect.any(String) })
  expect(hidden).toBeUndefined()
  expect(existsSync(join(project, 'node_modules', '@upfront', name, 'LICENSE'))).toBe(true)
  for (const [dependency, range] of Object.entries(dependencies)) {
    const own = dependency.startsWith('@upfront/') ? manifests[dependency.slice('@upfront/'.length)] : undefined
    expect([dependency, range]).toEqual([dependency, own?.version ?? expect.stringMatching(/^\d+\.\d+\.\d+$/)])
    if (dependency.startsWith('@upfront/')) expect(own).toBeDefined()
  }
})

it('verifies the example by executing it again', () => {
  const { status, stdout, stderr } = verify(join(folder, 'example.json'))
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/ok +execution +portable: \d+ gas/)
  expect(stdout).toContain('The bill is right.')
}, 60_000)

it('reports the errors of a changed receipt, the missing documents of another, and an unreadable one', () => {
  const example = JSON.parse(readFileSync(join(folder, 'example.json'), 'utf8'))
  example.answer.result[0].calls[0].gasUsed = '0x1'
  const file = join(project, 'changed.json')
  writeFileSync(file, JSON.stringify(example))
  const { status, stdout } = verify(file)
  expect(status).toBe(1)
  expect(stdout).toContain('The bill is WRONG: result, charge, execution.')
  const { payment: _, ...without } = JSON.parse(readFileSync(join(folder, 'example.json'), 'utf8'))
  writeFileSync(file, JSON.stringify(without))
  const { status: open, stdout: told } = verify(file)
  expect([open, told]).toEqual([2, expect.stringContaining('NOT FULLY CHECKED: offer, authorization.')])
  writeFileSync(file, '{}')
  const { status: unread, stderr } = verify(file)
  expect([unread, stderr]).toEqual([3, expect.stringContaining('request: expected an object')])
}, 60_000)
