import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lockDirectory } from './directory-lock.js'

describe('lockDirectory', () => {
  const directory = mkdtempSync(join(tmpdir(), 'directory-lock-'))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  it('locks a directory for one holder at a time', async () => {
    const lockFile = join(directory, 'one.lock')
    const unlock = await lockDirectory(lockFile)
    await expect(lockDirectory(lockFile)).rejects.toThrow('BILLING_DATA_DIR is in use')
    unlock()
    ;(await lockDirectory(lockFile))()
  })

  const hasFlock = spawnSync('flock', ['--version']).error === undefined
  // Without flock(1), containers can't see each other's locks.
  const test = hasFlock ? it : it.skip

  test('rejects while a process of another container holds the lock, and resolves once that has ended', async () => {
    // A separate file: the lock of the other test may not be released yet.
    const lockFile = join(directory, 'other.lock')
    const other = spawn('flock', ['-x', '-n', lockFile, 'cat'], { stdio: ['pipe', 'pipe', 'ignore'] })
    other.stdin.write('locked\n')
    await once(other.stdout, 'data')
    await expect(lockDirectory(lockFile)).rejects.toThrow('BILLING_DATA_DIR is in use')
    other.stdin.destroy()
    ;(await lockDirectory(lockFile))()
  })
})
