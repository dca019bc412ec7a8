import { EventEmitter, once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { limitConnections } from './connection-limit.js'

const { jest } = import.meta
const memory = { take: () => undefined, give: () => undefined }

async function serverOf(total: number, perClient: number) {
  const waiting: ServerResponse[] = []
  const server = createServer((_, response) => waiting.push(response))
  limitConnections(server, { total, perClient, memory, isIdle: () => undefined })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sockets: Socket[] = []
  /** Connects from the client's own address and resolves once the server has accepted. */
  const open = async (client: number) => {
    const accepted = once(server, 'connection')
    const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.2.${client}` }).on('error', () => undefined)
    sockets.push(socket)
    await accepted
    return socket
  }
  const ask = async (socket: Socket) => {
    const asked = once(server, 'request')
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await asked
  }
  const close = () => {
    for (const socket of sockets) socket.destroy()
    server.closeAllConnections()
    server.close()
  }
  return { open, ask, close, waiting }
}

const textOf = async (socket: Socket) => {
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}

describe('limitConnections', () => {
  it('closes the oldest idle connection of the client that holds the most to admit a new one', async () => {
    const { open, ask, close } = await serverOf(4, 3)
    const [first, second, third] = [await open(1), await open(1), await open(1)]
    const other = await open(2)
    await ask(first)
    const closed = once(second, 'close')
    const fresh = await open(3)
    await closed
    expect([first, third, other, fresh].map(({ destroyed }) => destroyed)).toEqual([false, false, false, false])
    close()
  })

  it('counts an IPv6 /64 as one client and allows its /48 four times as many connections', () => {
    const server = new EventEmitter()
    limitConnections(server as never, { total: 100, perClient: 2, memory, isIdle: () => undefined })
    const isRefused = (remoteAddress: string) => {
      const socket = Object.assign(new EventEmitter(), { remoteAddress, end: jest.fn(), destroySoon: () => undefined })
      server.emit('connection', socket)
      return socket.end.mock.calls.length > 0
    }
    const refused = (addresses: string[]) => addresses.map(isRefused)
    expect(refused(['2001:db8:1:1::1', '2001:db8:1:1:8000::2', '2001:db8:1:1::3'])).toEqual([false, false, true])
    const others = ['2', '3', '4'].flatMap((net) => [`2001:db8:1:${net}::1`, `2001:db8:1:${net}::2`])
    expect(refused(others)).toEqual(others.map(() => false))
    expect(refused(['2001:db8:1:5::1', '2001:db8:2:1::1'])).toEqual([true, false])
  })

  it('answers 503 if no connection is idle or the client has reached its share', async () => {
    const { open, ask, close } = await serverOf(3, 2)
    const [first, second] = [await open(1), await open(1)]
    expect(await textOf(await open(1))).toMatch(/^HTTP\/1\.1 503 .*retry-after: 1.*"too many connections"/s)
    await ask(first)
    await ask(second)
    await ask(await open(2))
    expect(await textOf(await open(3))).toMatch(/^HTTP\/1\.1 503 /)
    close()
  })
})
