import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { WebSocket } from '@fastify/websocket'
import { MessageSender } from './message-sender.js'

/** A connection whose client does not read before `read` is called. Like ws, it writes head and payload of a message together. */
function slowConnection() {
  const written: Buffer[][] = []
  let read: (() => void) | undefined
  let isRead = false
  const take = (chunks: Buffer[], done: () => void) => {
    written.push(chunks)
    if (isRead) done()
    else read = done
  }
  const socket = new Writable({
    highWaterMark: 16_384,
    write: (chunk, _, done) => take([chunk], done),
    writev: (chunks, done) =>
      take(
        chunks.map(({ chunk }) => chunk),
        done,
      ),
  })
  const webSocket = Object.assign(new EventEmitter(), {
    send: (message: string) => {
      socket.cork()
      socket.write('>')
      socket.write(message)
      socket.uncork()
    },
  })
  return {
    ...{ written, webSocket: webSocket as unknown as WebSocket, socket: socket as unknown as Socket },
    read: () => {
      isRead = true
      read?.()
    },
  }
}

it('sends messages that waited for the client together, in order', async () => {
  const { written, webSocket, socket, read } = slowConnection()
  const sender = new MessageSender(webSocket, socket, { take() {}, give() {} } as never, 60_000)
  const messages = Array.from({ length: 1_000 }, (_, index) => `${index}`.padEnd(100, '.'))
  for (const message of messages) sender.send([message])
  expect(sender.unread).toBeGreaterThan(50_000)
  read()
  await sender.whenRead()
  while (sender.unread > 0) await nextTurn()
  expect(written.flat().join('')).toBe(messages.map((message) => `>${message}`).join(''))
  const untilFull = written.findIndex((chunks) => chunks.length > 2)
  expect(written.length - untilFull).toBeLessThan(20)
})
