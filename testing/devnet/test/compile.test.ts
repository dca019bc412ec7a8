import { execFileSync } from 'node:child_process'

test('committed artifacts match the compiled contracts', () => {
  const script = new URL('../scripts/compile.mjs', import.meta.url).pathname
  expect(execFileSync(process.execPath, [script, '--check'], { encoding: 'utf8' })).toMatch(
    /^[1-9]\d* contracts checked$/m,
  )
})
