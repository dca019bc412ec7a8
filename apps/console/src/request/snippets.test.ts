import { execFileSync } from 'node:child_process'
import { EMPTY_BLOCK, EMPTY_CALL, EMPTY_DRAFT } from './draft.js'
import { payloadOf } from './payload.js'
import { snippetsOf } from './snippets.js'

it('generates the same request for curl, viem, alloy and web3.py', () => {
  const overrides = `{"0x00000000000000000000000000000000000a11ce": {"balance": "it's"}}`
  const payload = payloadOf({
    ...EMPTY_DRAFT,
    blocks: [{ ...EMPTY_BLOCK, calls: [{ ...EMPTY_CALL, value: '1' }], overrides }],
  })
  const [curl, ...others] = snippetsOf(payload, 'pending', 'http://gateway/ethereum')
  // As a shell parses the command.
  const shown = execFileSync('sh', ['-c', curl!.code.replace(/^curl/, 'printf "%s\\n"')], { encoding: 'utf8' })
  expect(JSON.parse(shown.trim().split('\n').at(-1)!).params).toEqual([payload, 'pending'])
  expect(others.map(({ client }) => client)).toEqual(['viem', 'alloy', 'web3.py'])
  for (const { code } of others) expect(code).toContain(JSON.stringify([payload, 'pending']))
})
