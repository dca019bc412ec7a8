import { type Draft, EMPTY_BLOCK, EMPTY_CALL, EMPTY_DRAFT } from './draft.js'
import { draftOfFragment, fragmentOf } from './link.js'

const BOB = '0x0000000000000000000000000000000000000b0b'

const draftOf = (call: object, overrides = ''): Draft => ({
  ...EMPTY_DRAFT,
  blocks: [{ ...EMPTY_BLOCK, calls: [{ ...EMPTY_CALL, ...call }], overrides }],
})

describe('links', () => {
  it('contain the whole request', () => {
    const draft = draftOf({ to: BOB, value: '3', data: 'f(string) ["#%&"]' }, '{"a": "ü"}')
    expect(draftOfFragment(`#${fragmentOf(draft)}`)).toEqual(draft)
    const { calls, overrides } = draft.blocks[0]!
    expect(draftOfFragment(`#${encodeURIComponent(JSON.stringify({ calls, overrides }))}`)).toEqual(draft)
  })

  it.each(['', '#', '#%', '#{}', '#{"calls":[],"overrides":""}', '#{"calls":[null],"overrides":""}'])(
    'contain no request in %s',
    (fragment) => expect(draftOfFragment(fragment)).toBeUndefined(),
  )
})
