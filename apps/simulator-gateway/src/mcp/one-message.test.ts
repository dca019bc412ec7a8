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

  it('gives the answer of a request, and nothing else that is sent', async () => {
    const answer = transport.take(PING)
    await transport.send({ jsonrpc: '2.0', method: 'notifications/message' })
    await transport.send(PONG)
    expect([await answer, heard]).toEqual([PONG, [PING]])
  })

  it.each([{ jsonrpc: '2.0', method: 'notifications/initialized' }, PONG])(
    'waits for no answer to %j',
    async (message) => {
      expect([await transport.take(message), heard]).toEqual([undefined, [message]])
    },
  )

  it.each([undefined, null, 'ping', {}, { ...PING, jsonrpc: '1.0' }, { ...PING, id: {} }])(
    'refuses %j, which the server never sees',
    async (message) => {
      await expect(transport.take(message)).rejects.toMatchObject({ code: -32600, httpStatus: 400 })
      expect(heard).toEqual([])
    },
  )

  it('ends with its client', async () => {
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

it('takes clients that take JSON and streams', () => {
  expect(() => checkAccept('application/json, text/event-stream')).not.toThrow()
  for (const accept of [undefined, '*/*', 'application/json', 'text/event-stream'])
    expect(() => checkAccept(accept)).toThrow(expect.objectContaining({ httpStatus: 406 }))
})

it('takes versions of the protocol that it knows', () => {
  for (const version of [undefined, '2025-06-18']) expect(() => checkVersion(version)).not.toThrow()
  expect(() => checkVersion('1999-01-01')).toThrow(expect.objectContaining({ httpStatus: 400 }))
})
