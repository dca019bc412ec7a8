import { RpcError } from '../rpc-error.js'
import { decodeCallRequest } from './call-request.js'

const A = `0x${'a'.repeat(40)}`

describe('decodeCallRequest', () => {
  it('defaults the block to latest', () => {
    expect(decodeCallRequest([{ to: A, data: '0x01' }])).toEqual({
      call: { to: A, input: '0x01' },
      block: { kind: 'tag', tag: 'latest' },
      stateOverrides: [],
      blockOverrides: {},
    })
  })

  it('decodes the block and both kinds of overrides, and treats null as absent', () => {
    expect(decodeCallRequest([{}, 'pending', { [A]: { balance: '0x1' } }, { time: '0x2' }])).toEqual({
      call: {},
      block: { kind: 'tag', tag: 'pending' },
      stateOverrides: [{ address: A, balance: 1n }],
      blockOverrides: { timestamp: 2n },
    })
    expect(decodeCallRequest([{}, null, null, null]).block).toEqual({ kind: 'tag', tag: 'latest' })
  })

  it.each([
    [undefined, 'expected params to be [call, block], got nothing'],
    [{}, 'expected params to be [call, block], got an object'],
    [[], 'params[0]: expected a call object, got nothing'],
    [[{ gas: '1' }], 'params[0].gas: expected a hex quantity, got "1"'],
    [[{}, 'latest', { x: {} }], 'params[2].x: expected an address of 20 bytes in hex, got "x"'],
    [[{}, 'latest', {}, { nummber: '0x1' }], 'params[3]: unknown field "nummber"; did you mean `number`?'],
    [[{}, 'latest', {}, {}, {}], 'expected at most four params, got 5'],
  ])('rejects %j', (params, message) => {
    expect(() => decodeCallRequest(params)).toThrow(new RpcError(-32602, message))
  })
})
