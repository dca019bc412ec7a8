import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { loadAddon } from './addon.js'
import { platformPackage } from './platform-package.js'

const PREBUILT = '@upfront/engine-revm-somewhere'
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'addon-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const load = (prebuilt: string | undefined = PREBUILT) => loadAddon(pathToFileURL(`${folder}/`), prebuilt)

function installPrebuilt(code: string): void {
  const home = join(folder, 'node_modules', PREBUILT)
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'index.js'), code)
}

describe('loadAddon', () => {
  it('loads the prebuilt addon if none was built here', () => {
    installPrebuilt('module.exports = { NativeEngine: 1 }')
    expect(load().addon).toMatchObject({ NativeEngine: 1 })
  })

  it('loads the prebuilt addon if the one built here does not load', () => {
    installPrebuilt('module.exports = { NativeEngine: 1 }')
    writeFileSync(join(folder, 'index.node'), 'no library')
    expect(load().addon).toMatchObject({ NativeEngine: 1 })
  })

  it('does not load an addon built for another processor', () => {
    writeFileSync(join(folder, 'index.node'), '')
    writeFileSync(join(folder, 'addon-needs.txt'), 'fpu\nfrobnicate')
    expect(loadAddon(pathToFileURL(`${folder}/`), undefined).reason).toBe(
      'the native engine is built for a processor with frobnicate: build it again here; none is published for this platform',
    )
  })

  it('gives the reason if there is no addon', () => {
    expect(load().reason).toBe(`the native engine is not built; ${PREBUILT} is not installed`)
    expect(loadAddon(pathToFileURL(`${folder}/`), undefined).reason).toBe(
      'the native engine is not built; none is published for this platform',
    )
  })

  it('gives the build error, and the reason why the prebuilt addon does not load', () => {
    writeFileSync(join(folder, 'addon-cause.txt'), 'not built: cargo failed: no linker\n')
    installPrebuilt('throw new Error("GLIBC_9 not found\\nmore")')
    expect(load().reason).toBe(
      `the native engine is not built: cargo failed: no linker; ${PREBUILT} does not load here: GLIBC_9 not found`,
    )
  })
})

describe('platformPackage', () => {
  it.each([
    ['linux', 'x64', true, '@upfront/engine-revm-linux-x64-gnu'],
    ['linux', 'x64', false, undefined],
    ['linux', 'arm64', true, '@upfront/engine-revm-linux-arm64-gnu'],
    ['darwin', 'arm64', false, '@upfront/engine-revm-darwin-arm64'],
    ['win32', 'x64', false, '@upfront/engine-revm-win32-x64-msvc'],
    ['freebsd', 'x64', false, undefined],
  ])('returns the package for %s on %s, glibc: %s', (platform, arch, glibc, name) => {
    expect(platformPackage(platform, arch, glibc)).toBe(name)
  })
})
