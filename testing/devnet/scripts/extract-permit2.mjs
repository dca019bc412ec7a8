// Writes artifacts/Permit2.json: Permit2's runtime code as Uniswap publishes it for tests. Downloads the npm package that contains it.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const source = { package: '@uniswap/v4-periphery@1.0.3', path: 'lib/permit2/test/utils/DeployPermit2.sol' }
const folder = mkdtempSync(join(tmpdir(), 'permit2-'))
try {
  const tarball = execFileSync('npm', ['pack', '--silent', source.package], { cwd: folder, encoding: 'utf8' }).trim()
  execFileSync('tar', ['xzf', tarball, `package/${source.path}`], { cwd: folder })
  const [, code] = /hex"([0-9a-f]+)"/.exec(readFileSync(join(folder, 'package', source.path), 'utf8')) ?? []
  if (code === undefined) throw new Error(`no code in ${source.package} ${source.path}`)
  // The two adjacent immutables of Permit2's EIP712 base: the chain id (31337 in that build), then the domain separator.
  const chainId = `7f${(31337).toString(16).padStart(64, '0')}`
  const start = code.indexOf(chainId)
  if (start === -1 || code.indexOf(chainId, start + 1) !== -1) throw new Error('the cached chain id is not there once')
  const [, between] = /^(.{1,20}?)7f[0-9a-f]{64}/.exec(code.slice(start + chainId.length)) ?? []
  if (between === undefined) throw new Error('no domain separator follows the cached chain id')
  const chainIdOffset = (start + 2) / 2
  const artifact = {
    contractName: 'Permit2',
    source,
    immutables: { chainId: chainIdOffset, domainSeparator: chainIdOffset + 32 + between.length / 2 + 1 },
    deployedBytecode: `0x${code}`,
  }
  writeFileSync(new URL('../artifacts/Permit2.json', import.meta.url), `${JSON.stringify(artifact)}\n`)
} finally {
  rmSync(folder, { recursive: true })
}
