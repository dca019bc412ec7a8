import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Connections } from './connections.js'

it('Connections.end closes each connection without a running request, so that the server can close', async () => {
  let answer: (() => void) | undefined
  const server = createServer((_request, response: ServerResponse) => {
    answer = () => response.end('done')
  })
  const connections = new Connections(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const [silent, halfAsked] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
  halfAsked.on('error', () => undefined)
  await Promise.all([once(silent, 'connect'), once(halfAsked, 'connect')])
  halfAsked.write('GET / HT')
  const asked = fetch(`http://127.0.0.1:${port}`)
  while (answer === undefined) await new Promise((resolve) => setTimeout(resolve, 5))

  const closed = once(server, 'close')
  const cut = Promise.all([once(silent, 'close'), once(halfAsked, 'close')])
  server.close()
  connections.end()
  await cut
  answer()
  expect(await (await asked).text()).toBe('done')
  await closed
})
