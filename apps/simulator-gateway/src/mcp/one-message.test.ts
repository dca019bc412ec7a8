import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { ClientGone } from '../limits/refused.js'
import { checkAccept, checkVersion, OneMessage } from './one-message.js'

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' } as const
const PONG = { jsonrpc: '2.0', id: 1, result: {} } as const

describe('OneMessage', () => {
  let transport: OneMessage
  let heard: JSONRPCMessage[]

  beforeEach(() => {
    transport = new OneMessage()
    heard = []
    transport.onmessage = (message) => void heard.push(message)
  })

  it('resolves with the answer to its request and drops other messages', async () => {
    const answer = transport.take(PING)
    await transport.send({ jsonrpc: '2.0', method: 'notifications/message' })
    await transport.send(PONG)
    expect([await answer, heard]).toEqual([PONG, [PING]])
  })

  it.each([{ jsonrpc: '2.0', method: 'notifications/initialized' }, PONG])(
    'expects no answer to %j',
    async (message) => {
      expect([await transport.take(message), heard]).toEqual([undefined, [message]])
    },
  )

  it.each([undefined, null, 'ping', {}, { ...PING, jsonrpc: '1.0' }, { ...PING, id: {} }])(
    'rejects %j before it reaches the server',
    async (message) => {
      await expect(transport.take(message)).rejects.toMatchObject({ code: -32600, httpStatus: 400 })
      expect(heard).toEqual([])
    },
  )

  it.each<[unknown, string]>([
    [{ ...PING, jsonrpc: '1.0' }, 'jsonrpc: '],
    [{ ...PING, id: 1.5 }, 'id: '],
    [{ ...PING, method: 7 }, 'method: '],
    [{ ...PING, params: [] }, 'params: '],
    [{ jsonrpc: '2.0', method: 'notifications/initialized', params: 'all' }, 'params: '],
  ])('names the invalid field of %j', async (message, field) => {
    await expect(transport.take(message)).rejects.toThrow(`not a JSON-RPC message: ${field}`)
  })

  it.each<[string, unknown, string]>([
    ['tools/call', undefined, 'params: '],
    ['tools/call', { name: 5 }, 'params.name: '],
    ['tools/call', { name: 'preview', arguments: [] }, 'params.arguments: '],
    ['tools/list', { cursor: 5 }, 'params.cursor: '],
    ['initialize', { protocolVersion: 5 }, 'params.protocolVersion: '],
  ])('answers -32602 to %s with %j and names the field', async (method, params, field) => {
    const answer = await transport.take({ jsonrpc: '2.0', id: 'a', method, params })
    expect(answer).toMatchObject({ id: 'a', error: { code: -32602, message: expect.stringMatching(`^${field}`) } })
    expect(heard).toEqual([])
  })

  it('passes a call on without the task that is asked for', () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'preview' } }
    void transport.take({ ...call, params: { ...call.params, task: { ttl: 60_000 } } })
    expect(heard).toEqual([call])
  })

  it('rejects if the server failed, and keeps the reason from the client', async () => {
    const answer = transport.take(PING)
    await transport.send({ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'a is undefined' } })
    await expect(answer).rejects.toEqual(new Error('a is undefined'))
  })

  it('rejects with ClientGone once it is closed', async () => {
    let isClosed = false
    transport.onclose = () => {
      isClosed = true
    }
    const answer = transport.take(PING)
    void transport.close()
    await expect(answer).rejects.toBeInstanceOf(ClientGone)
    expect(isClosed).toBe(true)
  })
})

it('checkAccept requires both application/json and text/event-stream', () => {
  expect(() => checkAccept('application/json, text/event-stream')).not.toThrow()
  for (const accept of [undefined, '*/*', 'application/json', 'text/event-stream'])
    expect(() => checkAccept(accept)).toThrow(expect.objectContaining({ httpStatus: 406 }))
})

it('checkVersion accepts supported protocol versions only', () => {
  for (const version of [undefined, '2025-06-18']) expect(() => checkVersion(version)).not.toThrow()
  expect(() => checkVersion('1999-01-01')).toThrow(expect.objectContaining({ httpStatus: 400 }))
})
