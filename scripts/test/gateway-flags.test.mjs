import { readFileSync } from 'node:fs'

const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

test('the image starts the gateway with the Node flags of `npm run start:gateway`', () => {
  const [node, ...flagsAndProgram] = JSON.parse(read('package.json')).scripts['start:gateway'].split(' ')
  const [, stage] = read('infra/Dockerfile').split(/^FROM runtime AS gateway-portable$/m)
  const [, entryPoint] = /^ENTRYPOINT (.*)$/m.exec(stage)
  expect(JSON.parse(entryPoint)).toEqual([node, ...flagsAndProgram.slice(0, -1), 'dist/main.js'])
  expect(flagsAndProgram.slice(0, -1)).toContain('--max-semi-space-size=32')
})
