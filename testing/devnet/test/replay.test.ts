import { WebSocket } from 'ws'
import { type FlashblockMessage, replayStream } from '../src/index.js'

it('replays recorded messages in order', async () => {
  const recorded = Array.from({ length: 5 }, (_, index) => ({ payload_id: '0x01', index })) as FlashblockMessage[]
  const replay = await replayStream({ messages: recorded, intervalMs: 50 })
  const received: FlashblockMessage[] = []
  const socket = new WebSocket(replay.url)
  socket.on('message', (data) => received.push(JSON.parse(String(data))))
  await new Promise((resolve) => socket.once('open', resolve))
  await replay.done
  await new Promise((resolve) => setTimeout(resolve, 50))
  socket.close()
  await replay.stop()
  expect(received).toEqual(recorded.slice(recorded.length - received.length))
  expect(received.length).toBeGreaterThan(2)
})
