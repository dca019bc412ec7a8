// Checks types of tests, because builds exclude tests and jest only strips types.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../install.mjs'

it('type-checks all tests as one program', async () => {
  const flags = ['--singleThreaded', '--pretty', 'false', '-p', join(root, 'scripts', 'test', 'tsconfig.json')]
  const checked = promisify(execFile)(join(root, 'node_modules', '.bin', 'tsc'), flags, { cwd: root })
  expect(await checked.catch(({ stdout, stderr }) => ({ stdout, stderr }))).toEqual({ stdout: '', stderr: '' })
}, 300_000)
