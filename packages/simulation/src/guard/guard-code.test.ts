import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const folder = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, folder), 'utf8')

it('OutcomeGuard.json is what OutcomeGuard.sol compiles to', () => {
  const compile = '../../testing/devnet/scripts/compile.mjs'
  const { status, stderr } = spawnSync('node', [compile, '.', '--evm=cancun', '--check'], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' })
})

it('guard-code.ts and the devnet’s artifact have the same code as OutcomeGuard.json', () => {
  const text = read('artifacts/OutcomeGuard.json')
  const { bytecode, deployedBytecode } = JSON.parse(text)
  expect(read('src/guard/guard-code.ts')).toContain(`\n  '${bytecode}'\n`)
  expect(read('src/guard/guard-code.ts')).toContain(`\n  '${deployedBytecode}'\n`)
  expect(read('../../testing/devnet/artifacts/OutcomeGuard.json')).toBe(text)
})
